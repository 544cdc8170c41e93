// The rules of Landlock and seccomp, prepared before fork.
#include "studio/protocol/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

// Rights of kernels newer than the headers of Debian 12.
constexpr std::uint64_t kAccessTruncate = 1ULL << 14;  // version 3
constexpr std::uint64_t kAccessIoctlDev = 1ULL << 15;  // version 5
constexpr std::uint64_t kNetBindTcp = 1ULL << 0;       // version 4
constexpr std::uint64_t kNetConnectTcp = 1ULL << 1;
constexpr std::uint64_t kScopeAbstractSocket = 1ULL << 0;  // version 6
constexpr std::uint64_t kScopeSignal = 1ULL << 1;

struct RulesetAttributes {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;
  std::uint64_t scoped;
};

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kReadFolder = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriteFolder = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                       LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                       LANDLOCK_ACCESS_FS_MAKE_REG;

std::uint64_t handledAccess(int version) {
  std::uint64_t access = (1ULL << 13) - 1;  // all of version 1
  if (version >= 2) access |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) access |= kAccessTruncate;
  if (version >= 5) access |= kAccessIoctlDev;
  return access;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool isFolder(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

void allowFd(int ruleset, int fd, std::uint64_t access) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = fd;
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    throw Error(ExitCode::kUnsupported,
                fmt::format("The sandbox could not be set up ({}); use --trust to run the model without it.",
                            std::strerror(errno)));
  }
}

void allowPath(int ruleset, const std::string& path, std::uint64_t file_access, std::uint64_t folder_access) {
  const Descriptor descriptor(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (descriptor.get() < 0) return;
  allowFd(ruleset, descriptor.get(), isFolder(descriptor.get()) ? folder_access : file_access);
}

int makeRuleset(const SandboxPolicy& policy) {
  const int version = landlockVersion();
  if (!policy.use_landlock || version < 1) return -1;
  RulesetAttributes attributes{};
  attributes.handled_access_fs = handledAccess(version);
  if (version >= 4) attributes.handled_access_net = kNetBindTcp | kNetConnectTcp;
  if (version >= 6) attributes.scoped = kScopeAbstractSocket | kScopeSignal;
  const int ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  if (ruleset < 0) {
    throw Error(ExitCode::kUnsupported,
                fmt::format("The sandbox could not be set up ({}); use --trust to run the model without it.",
                            std::strerror(errno)));
  }
  const std::uint64_t handled = attributes.handled_access_fs;
  for (const std::string& path : policy.readable) allowPath(ruleset, path, kReadFile, kReadFolder);
  for (const int fd : policy.readable_fds) allowFd(ruleset, fd, kReadFile);
  const std::uint64_t use = (kReadFile | LANDLOCK_ACCESS_FS_WRITE_FILE | kAccessIoctlDev) & handled;
  for (const std::string& path : policy.devices) allowPath(ruleset, path, use, use | LANDLOCK_ACCESS_FS_READ_DIR);
  // The program and the dynamic loader that it names may be executed.
  const std::uint64_t execute = kReadFile | LANDLOCK_ACCESS_FS_EXECUTE;
  allowPath(ruleset, policy.executable, execute, 0);
  allowPath(ruleset, "/lib64/ld-linux-x86-64.so.2", execute, 0);
  allowPath(ruleset, "/lib/ld-linux-aarch64.so.1", execute, 0);
  allowPath(ruleset, "/dev/null", (kReadFile | LANDLOCK_ACCESS_FS_WRITE_FILE | kAccessTruncate) & handled, 0);
  if (!policy.writable_folder.empty()) {
    allowPath(ruleset, policy.writable_folder, 0, (kReadFolder | kWriteFolder | kAccessTruncate) & handled);
  }
  return ruleset;
}

// System calls that no model needs, among them those for modes, owners, times and extended attributes, which Landlock
// does not cover.
constexpr int kDeniedCalls[] = {SCMP_SYS(socket),
                                SCMP_SYS(socketpair),
                                SCMP_SYS(connect),
                                SCMP_SYS(bind),
                                SCMP_SYS(listen),
                                SCMP_SYS(accept),
                                SCMP_SYS(accept4),
                                SCMP_SYS(ptrace),
                                SCMP_SYS(process_vm_readv),
                                SCMP_SYS(process_vm_writev),
                                SCMP_SYS(kcmp),
                                SCMP_SYS(pidfd_getfd),
                                SCMP_SYS(pidfd_open),
                                SCMP_SYS(mount),
                                SCMP_SYS(umount2),
                                SCMP_SYS(pivot_root),
                                SCMP_SYS(chroot),
                                SCMP_SYS(move_mount),
                                SCMP_SYS(open_tree),
                                SCMP_SYS(fsopen),
                                SCMP_SYS(fsmount),
                                SCMP_SYS(mount_setattr),
                                SCMP_SYS(unshare),
                                SCMP_SYS(setns),
                                SCMP_SYS(bpf),
                                SCMP_SYS(io_uring_setup),
                                SCMP_SYS(io_uring_enter),
                                SCMP_SYS(io_uring_register),
                                SCMP_SYS(perf_event_open),
                                SCMP_SYS(userfaultfd),
                                SCMP_SYS(add_key),
                                SCMP_SYS(request_key),
                                SCMP_SYS(keyctl),
                                SCMP_SYS(init_module),
                                SCMP_SYS(finit_module),
                                SCMP_SYS(delete_module),
                                SCMP_SYS(kexec_load),
                                SCMP_SYS(kexec_file_load),
                                SCMP_SYS(reboot),
                                SCMP_SYS(swapon),
                                SCMP_SYS(swapoff),
                                SCMP_SYS(acct),
                                SCMP_SYS(quotactl),
                                SCMP_SYS(settimeofday),
                                SCMP_SYS(clock_settime),
                                SCMP_SYS(adjtimex),
                                SCMP_SYS(clock_adjtime),
                                SCMP_SYS(sethostname),
                                SCMP_SYS(setdomainname),
                                SCMP_SYS(syslog),
                                SCMP_SYS(open_by_handle_at),
                                SCMP_SYS(name_to_handle_at),
                                SCMP_SYS(chmod),
                                SCMP_SYS(fchmod),
                                SCMP_SYS(fchmodat),
                                SCMP_SYS(chown),
                                SCMP_SYS(fchown),
                                SCMP_SYS(lchown),
                                SCMP_SYS(fchownat),
                                SCMP_SYS(utime),
                                SCMP_SYS(utimes),
                                SCMP_SYS(utimensat),
                                SCMP_SYS(futimesat),
                                SCMP_SYS(setxattr),
                                SCMP_SYS(lsetxattr),
                                SCMP_SYS(fsetxattr),
                                SCMP_SYS(removexattr),
                                SCMP_SYS(lremovexattr),
                                SCMP_SYS(fremovexattr),
                                SCMP_SYS(mknod),
                                SCMP_SYS(mknodat),
                                SCMP_SYS(fork),
                                SCMP_SYS(vfork),
                                SCMP_SYS(setuid),
                                SCMP_SYS(setgid),
                                SCMP_SYS(setpgid),
                                SCMP_SYS(setsid),
                                SCMP_SYS(msgget),
                                SCMP_SYS(shmget),
                                SCMP_SYS(semget)};

// System calls denied where there is no Landlock: nothing may be made, opened for writing, moved or removed.
constexpr int kDeniedFileCalls[] = {SCMP_SYS(creat),     SCMP_SYS(truncate), SCMP_SYS(rename),   SCMP_SYS(renameat),
                                    SCMP_SYS(renameat2), SCMP_SYS(link),     SCMP_SYS(linkat),   SCMP_SYS(symlink),
                                    SCMP_SYS(symlinkat), SCMP_SYS(unlink),   SCMP_SYS(unlinkat), SCMP_SYS(mkdir),
                                    SCMP_SYS(mkdirat),   SCMP_SYS(rmdir)};

void addRule(scmp_filter_ctx context, std::uint32_t action, int call) {
  // Calls unknown to this architecture are negative; there is nothing to deny.
  if (call >= 0) seccomp_rule_add(context, action, call, 0);
}

void denyWritingFiles(scmp_filter_ctx context) {
  const std::uint32_t deny = SCMP_ACT_ERRNO(EACCES);
  for (const int call : kDeniedFileCalls) addRule(context, deny, call);
  for (const std::uint64_t flag : {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND}) {
    seccomp_rule_add(context, deny, SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, flag, flag));
    seccomp_rule_add(context, deny, SCMP_SYS(open), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, flag, flag));
  }
  // The flags of openat2 lie behind a pointer, which seccomp cannot read; callers fall back to openat.
  addRule(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2));
}

std::vector<sock_filter> makeFilter(bool deny_writing_files) {
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> context(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  const Descriptor file(::memfd_create("seccomp", MFD_CLOEXEC));
  if (!context || file.get() < 0) {
    throw Error(ExitCode::kUnsupported, "The sandbox could not be set up; use --trust to run the model without it.");
  }
  // Async-signal-safe entry needs plain instructions, so the filter is exported and read back.
  const std::uint32_t deny = SCMP_ACT_ERRNO(EPERM);
  for (const int call : kDeniedCalls) addRule(context.get(), deny, call);
  // New threads, but no new processes. clone3 hides its flags behind a pointer; the C library falls back to clone.
  seccomp_rule_add(context.get(), deny, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  addRule(context.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3));
  if (deny_writing_files) denyWritingFiles(context.get());
  if (seccomp_export_bpf(context.get(), file.get()) != 0) {
    throw Error(ExitCode::kUnsupported, "The sandbox could not be set up; use --trust to run the model without it.");
  }
  const off_t bytes = ::lseek(file.get(), 0, SEEK_END);
  std::vector<sock_filter> filter(static_cast<std::size_t>(bytes) / sizeof(sock_filter));
  IPEX_CHECK(::pread(file.get(), filter.data(), static_cast<std::size_t>(bytes), 0) == bytes, "memfd cannot be read");
  return filter;
}

}  // namespace

int landlockVersion() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

Sandbox::Sandbox(const SandboxPolicy& policy) : ruleset_fd_(makeRuleset(policy)) {
  filter_ = makeFilter(ruleset_fd_ < 0);
}

Sandbox::~Sandbox() {
  if (ruleset_fd_ >= 0) ::close(ruleset_fd_);
}

int Sandbox::enter() const noexcept {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  if (ruleset_fd_ >= 0 && ::syscall(SYS_landlock_restrict_self, ruleset_fd_, 0) != 0) return errno;
  sock_fprog program{};
  program.len = static_cast<unsigned short>(filter_.size());
  program.filter = const_cast<sock_filter*>(filter_.data());
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : errno;
}

bool denyExec() noexcept {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_execve, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_execveat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{};
  program.len = sizeof filter / sizeof filter[0];
  program.filter = filter;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  // Threads that libraries started while loading are included.
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace ipex_studio
