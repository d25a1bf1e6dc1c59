import type { Row } from './row.js';
import { AGENT_ROWS } from './rows/agent.js';
import { APPEND } from './rows/append.js';
import { BLOCKS } from './rows/blocks.js';
import { COMMAND, FIRST_COMMAND } from './rows/command.js';
import { EXPORT } from './rows/export.js';
import { LARGE_ROWS } from './rows/large.js';
import { DECISION, LENGTH, START } from './rows/latency.js';
import { LIST } from './rows/list.js';
import { MANY_ROWS } from './rows/many-runs.js';
import { NUMBERS_ROWS } from './rows/numbers.js';
import { PAUSED_ROWS } from './rows/paused.js';
import { RECALL } from './rows/recall.js';
import { RECOVERY_ROWS } from './rows/recovery.js';
import { REPLAY } from './rows/replay.js';
import { ROUTING } from './rows/routing.js';
import { SCHEDULE } from './rows/schedule.js';
import { GROWTH, SIZE } from './rows/size.js';
import { STILL } from './rows/still.js';
import { STREAM_ROWS } from './rows/stream.js';
import { SUBSCRIBERS } from './rows/subscribers.js';
import { TASKS_ROW } from './rows/tasks.js';
import { VERIFY } from './rows/verify.js';
import { WORKERS } from './rows/workers.js';

/** Everything that is measured. */
export const ROWS: readonly Row[] = [
  ...AGENT_ROWS,
  APPEND,
  BLOCKS,
  DECISION,
  ...PAUSED_ROWS,
  ...NUMBERS_ROWS,
  ...RECOVERY_ROWS,
  STILL,
  ROUTING,
  REPLAY,
  WORKERS,
  ...MANY_ROWS,
  TASKS_ROW,
  SCHEDULE,
  SIZE,
  GROWTH,
  LENGTH,
  START,
  VERIFY,
  EXPORT,
  RECALL,
  COMMAND,
  FIRST_COMMAND,
  ...STREAM_ROWS,
  SUBSCRIBERS,
  ...LARGE_ROWS,
  LIST,
];
