import type { TaskView } from '../../../core/tasks/task.js';
import type { TrajectoryResult } from '../../../core/trajectories/trajectory-result.js';
import { plain, print } from '../../print.js';
import { printChanged } from '../../run-text.js';

/** A result as one line. */
export function resultText(result: TrajectoryResult): string {
  if (result.type === 'success') return 'success';
  if (result.type === 'partial_success') return `partial success; missing: ${result.missing.map(plain).join(', ')}`;
  return `${result.type}: ${plain(result.reason)}`;
}

export function printTask(task: TaskView): void {
  print(`task     ${task.id}`);
  print(`name     ${plain(task.name)} ${plain(task.version)}`);
  print(`kind     ${plain(task.category)}, ${task.difficulty}`);
  print(`agent    ${plain(task.agent)}`);
  print(`status   ${task.status}`);
  print(`run      ${task.runId} (holdfast trajectory ${task.runId})`);
  if (task.attempts > 1) print(`attempts ${task.attempts}`);
  for (const { runId, error } of task.tried ?? [])
    if (error !== null) print(`failed   ${runId}: ${plain(error.code)}: ${plain(error.message)}`);
  const [newest] = task.tried ?? [];
  if (newest?.error != null) print(`way out  ${plain(newest.error.hint)}`);
  if (task.retryAt !== null) print(`again    ${task.retryAt}`);
  if (task.result !== null) print(`result   ${resultText(task.result)}`);
  if (task.reward !== null) print(`reward   ${task.reward}`);
  printChanged(task.integrity);
}
