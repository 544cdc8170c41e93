// Every published attack on TorchScript files is refused or named, in a thousand mutants each; harmless files are not.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/file/attacks.h"
#include "tests/core/file/attacks_packing.h"

namespace ipex_studio {
namespace {

using namespace ipex_studio::testing;

// "refused", or the kinds of the dangerous findings.
std::string verdictOf(const std::string& bytes) {
  std::string verdict;
  try {
    for (const Finding& finding : inspectBytes(bytes).findings) {
      if (finding.dangerous) verdict += finding.kind + " ";
    }
  } catch (const Error& error) {
    return error.code() == ExitCode::kBadModel ? "refused" : "wrong exit code";
  }
  return verdict;
}

// A spelling that hides the name counts as found where it is told to hide names.
bool foundBy(const std::string& verdict, const std::string& kind) {
  if (verdict == "refused") return true;  // EachIsRefusedOrNamed bounds how many are
  return !kind.empty() &&
         (verdict.find(kind + " ") != std::string::npos || verdict.find("hidden-calls ") != std::string::npos);
}

int mutants() { return std::getenv("IPEX_CAMPAIGN") != nullptr ? 1000 : 200; }

TEST(Attacks, EachIsRefusedOrNamed) {
  std::vector<Attack> attacks = codeAttacks();
  for (const auto& more : {pickleAttacks(), zipAttacks()}) attacks.insert(attacks.end(), more.begin(), more.end());
  EXPECT_GE(attacks.size(), 41u);
  for (std::size_t a = 0; a < attacks.size(); ++a) {
    int missed = 0, refused = 0;
    for (int m = 0; m < mutants(); ++m) {
      Random random(a * 1000003 + static_cast<std::uint64_t>(m));
      const std::string verdict = verdictOf(attacks[a].make(random));
      refused += verdict == "refused" ? 1 : 0;
      if (foundBy(verdict, attacks[a].kind)) continue;
      if (++missed <= 3)
        ADD_FAILURE() << attacks[a].name << ", mutant " << m << ": " << (verdict.empty() ? "accepted" : verdict);
    }
    EXPECT_EQ(missed, 0) << attacks[a].name;
    // Where a finding is asked for, the file is sound but for what it can do.
    if (!attacks[a].kind.empty()) {
      EXPECT_LT(refused, mutants() / 2) << attacks[a].name;
    }
  }
}

TEST(Attacks, HarmlessFilesRaiseNoAlarm) {
  for (int m = 0; m < 5 * mutants(); ++m) {
    Random random(7919 + static_cast<std::uint64_t>(m));
    ASSERT_EQ(verdictOf(harmlessFile(random)), "") << "file " << m;
    ASSERT_EQ(verdictOf(harmlessPickles(random)), "") << "pickles " << m;
  }
}

// Damage on top of an attack must not end the program, whatever it makes of the file.
TEST(Attacks, SurviveFurtherDamage) {
  std::vector<Attack> attacks = codeAttacks();
  for (const auto& more : {pickleAttacks(), zipAttacks()}) attacks.insert(attacks.end(), more.begin(), more.end());
  for (int m = 0; m < 10 * mutants(); ++m) {
    Random random(104729 + static_cast<std::uint64_t>(m));
    const Attack& attack = attacks[random.index(attacks.size())];
    EXPECT_NE(verdictOf(mutated(attack.make(random), random)), "wrong exit code");
  }
}

}  // namespace
}  // namespace ipex_studio
