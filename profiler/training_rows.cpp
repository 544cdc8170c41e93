// See training_rows.h.
#include "profiler/training_rows.h"

#include "profiler/job_rows.h"

namespace ipex_studio {
namespace {

bool knowsTrainings(Connection& connection) {
  return connection.integer("PRAGMA user_version") >= kTrainingSchemaVersion;
}

// Writes rows whose positions count from 0 in each step.
template <class Record, class Bind>
void insertByStep(Statement& insert, std::int64_t job_id, const std::vector<Record>& records, const Bind& bind) {
  std::int64_t step = -1, position = 0;
  for (const Record& record : records) {
    position = record.step == step ? position + 1 : 0;
    step = record.step;
    bind(insert, job_id, step, position, record);
    insert.run();
  }
}

void insertProfile(Connection& connection, std::int64_t job_id, const TrainingRecord& training) {
  Statement layer(connection, "INSERT INTO training_layer VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
  insertByStep(layer, job_id, training.layers,
               [](Statement& row, std::int64_t job, std::int64_t step, std::int64_t position, const TrainingLayer& l) {
                 row.bind(job, step, position, l.layer, l.forward_ns, l.backward_ns, l.update_ns, l.parameters,
                          l.gradient_norm, l.kept_bytes);
               });
  Statement memory(connection, "INSERT INTO training_memory VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  insertByStep(memory, job_id, training.memory,
               [](Statement& row, std::int64_t job, std::int64_t step, std::int64_t position, const TrainingMemory& m) {
                 row.bind(job, step, position, m.at_ns, m.phase, m.layer, m.activation_bytes, m.gradient_bytes,
                          m.peak_bytes);
               });
}

void selectProfile(Connection& connection, std::int64_t job_id, TrainingRecord* training) {
  if (connection.integer("PRAGMA user_version") < kTrainingProfileSchemaVersion) return;
  Statement fault(connection, "SELECT fault FROM training WHERE job_id = ?1");
  if (fault.bind(job_id).next()) training->fault = fault.text(0);
  Statement layer(connection,
                  "SELECT step, layer, forward_ns, backward_ns, update_ns, parameters, gradient_norm, kept_bytes FROM "
                  "training_layer WHERE job_id = ?1 ORDER BY step, position");
  for (layer.bind(job_id); layer.next();) {
    training->layers.push_back({layer.integer(0), layer.text(1), layer.integer(2), layer.integer(3), layer.integer(4),
                                layer.integer(5), layer.real(6), layer.integer(7)});
  }
  Statement memory(connection,
                   "SELECT step, at_ns, phase, layer, activation_bytes, gradient_bytes, peak_bytes FROM "
                   "training_memory WHERE job_id = ?1 ORDER BY step, position");
  for (memory.bind(job_id); memory.next();) {
    training->memory.push_back({memory.integer(0), memory.integer(1), memory.text(2), memory.text(3), memory.integer(4),
                                memory.integer(5), memory.integer(6)});
  }
}

}  // namespace

void insertTraining(Connection& connection, std::int64_t job_id, const JobRecord& job) {
  if (!job.training) return;
  const TrainingRecord& t = *job.training;
  Statement insert(
      connection,
      "INSERT INTO training VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)");
  insert
      .bind(job_id, t.loss, t.optimizer, t.schedule, t.precision, t.metric, t.higher_is_better, t.epochs,
            t.steps_per_epoch, t.batch, t.samples, t.parameters, t.threads, t.resumed_at, t.finished, t.fault)
      .run();
  Statement step(connection, "INSERT INTO training_step VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
  for (const TrainingStep& s : t.steps) {
    step.bind(job_id, s.step, s.steps, s.loss, s.learning_rate, s.gradient_norm, s.accuracy, s.data_ns, s.forward_ns,
              s.backward_ns, s.update_ns)
        .run();
  }
  Statement epoch(connection, "INSERT INTO training_epoch VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  for (const TrainingEpoch& e : t.ends) epoch.bind(job_id, e.epoch, e.step, e.loss, e.metric, e.elapsed_ns).run();
  insertProfile(connection, job_id, t);
}

std::shared_ptr<const TrainingRecord> selectTraining(Connection& connection, std::int64_t job_id) {
  if (!knowsTrainings(connection)) return nullptr;
  Statement row(connection,
                "SELECT loss, optimizer, schedule, precision, metric, higher_is_better, epochs, steps_per_epoch, "
                "batch, samples, parameters, threads, resumed_at, finished FROM training WHERE job_id = ?1");
  if (!row.bind(job_id).next()) return nullptr;
  auto training = std::make_shared<TrainingRecord>();
  TrainingRecord& t = *training;
  int column = 0;
  for (std::string* text : {&t.loss, &t.optimizer, &t.schedule, &t.precision, &t.metric}) *text = row.text(column++);
  t.higher_is_better = row.integer(column++) != 0;
  for (std::int64_t* number : {&t.epochs, &t.steps_per_epoch, &t.batch, &t.samples, &t.parameters})
    *number = row.integer(column++);
  t.threads = row.integer32(column++);
  t.resumed_at = row.integer(column++);
  t.finished = row.integer(column) != 0;
  Statement step(connection,
                 "SELECT step, steps, loss, learning_rate, gradient_norm, accuracy, data_ns, forward_ns, backward_ns, "
                 "update_ns FROM training_step WHERE job_id = ?1 ORDER BY step");
  for (step.bind(job_id); step.next();) {
    t.steps.push_back({step.integer(0), step.integer(1), step.real(2), step.real(3), step.real(4), step.real(5),
                       step.integer(6), step.integer(7), step.integer(8), step.integer(9)});
  }
  Statement epoch(connection,
                  "SELECT epoch, step, loss, metric, elapsed_ns FROM training_epoch WHERE job_id = ?1 ORDER BY epoch");
  for (epoch.bind(job_id); epoch.next();)
    t.ends.push_back({epoch.integer(0), epoch.integer(1), epoch.real(2), epoch.real(3), epoch.integer(4)});
  selectProfile(connection, job_id, &t);
  return training;
}

std::optional<TrainingSummary> selectTrainingSummary(Connection& connection, std::int64_t job_id) {
  if (!knowsTrainings(connection)) return std::nullopt;
  Statement row(
      connection,
      "SELECT precision, metric, epochs, threads, finished, "
      "(SELECT max(step) FROM training_step WHERE training_step.job_id = training.job_id), "
      "(SELECT loss FROM training_step WHERE training_step.job_id = training.job_id ORDER BY step DESC LIMIT 1), "
      "(SELECT metric FROM training_epoch WHERE training_epoch.job_id = training.job_id ORDER BY epoch DESC "
      "LIMIT 1), "
      "(SELECT CAST(total((data_ns + forward_ns + backward_ns + update_ns) * steps) / total(steps) AS INTEGER) FROM "
      "training_step "
      "WHERE training_step.job_id = training.job_id) FROM training WHERE job_id = ?1");
  if (!row.bind(job_id).next()) return std::nullopt;
  TrainingSummary summary;
  summary.precision = row.text(0);
  summary.metric = row.text(1);
  summary.epochs = row.integer(2);
  summary.threads = row.integer32(3);
  summary.finished = row.integer(4) != 0;
  summary.steps = row.isNull(5) ? 0 : row.integer(5);
  summary.loss = row.real(6);
  summary.value = row.real(7);
  summary.step_ns = row.isNull(8) ? 0 : row.integer(8);
  return summary;
}

}  // namespace ipex_studio
