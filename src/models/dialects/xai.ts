import { type Dialect, STANDARD } from './dialect.js';

/** xAI counts reasoning beside `completion_tokens`; its `total_tokens` has both. Its Chat Completions take no reasoning back. */
export const XAI: Dialect = { ...STANDARD, name: 'xai', emptyContent: '', reasoningBeside: true };
