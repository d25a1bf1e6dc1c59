import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { placeOf, readTask } from '../../src/cli/read-task.js';
import type { TaskDefinition } from '../../src/core/task-definition.js';

/** The tasks that ship, by their names. */
export const SHIPPED: readonly TaskDefinition[] = readdirSync(join(placeOf('count-words'), '..'))
  .sort()
  .map((name) => readTask(name));
