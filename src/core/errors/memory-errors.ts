import { type ErrorRow, row } from './error-row.js';

/** Errors of memory: part of the one table of errors (error-table.ts). */
export const MEMORY_ERRORS = {
  memory_unknown: row(
    404,
    'stop',
    'There is no such memory',
    'Read the detail: declare the space (defineAgent({ memory })), or use a key that is there; docs/agents/memory.md.',
  ),
  memory_invalid: row(
    422,
    'stop',
    'A document of memory cannot be that',
    'Read the detail: a document is a JSON object within its bounds that fits the schema of its space; docs/agents/memory.md.',
  ),
  memory_without_owner: row(
    422,
    'stop',
    'The run has none of what the scope of the space is',
    'Start the run in a session (scope session), or with exactly one subject (scope user).',
  ),
} as const satisfies Record<string, ErrorRow>;
