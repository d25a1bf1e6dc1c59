import { row } from './error-row.js';

/** How the body of a tool can fail: part of the one table of errors (error-table.ts). */
export const TOOL_ERRORS = {
  tool_timeout: row(500, 'stop', 'A tool took too long', 'Raise its timeoutMs, or make it faster.'),
  tool_memory: row(
    500,
    'stop',
    'A tool took more memory than it may',
    'Raise limits.memoryMb of the tool, or have it hold less at once.',
  ),
  tool_cpu: row(
    500,
    'stop',
    'A tool computed for longer than it may',
    'Raise limits.cpuSeconds of the tool, or make it faster.',
  ),
  tool_exited: row(
    500,
    'stop',
    'The thread or process of a tool ended',
    'Read the detail; the log has what it wrote to its standard error.',
  ),
  tool_failed: row(500, 'stop', 'A tool failed', 'Read the detail; the tool threw it.'),
  tool_raised: row(
    500,
    'stop',
    'A tool without an errorFunction failed, which ends the run',
    'Read the detail. With an errorFunction of the SDK the model reads why it failed instead.',
  ),
} as const;
