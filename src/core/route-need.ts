import type { JsonObject } from './json.js';

const LONGEST_TASK_TYPE = 64;

/** The type of task that a run says it is: `taskType` of its metadata. */
export function taskTypeIn({ taskType }: JsonObject): string | null {
  return typeof taskType === 'string' && taskType !== '' && taskType.length <= LONGEST_TASK_TYPE ? taskType : null;
}
