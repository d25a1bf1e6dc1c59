import { type Dialect, STANDARD } from './dialect.js';

/**
 * Groq refuses unknown fields of messages with 400 ("property 'reasoning_content' is unsupported"). Some of its models take
 * `reasoning` and others refuse it, so no reasoning goes back. Its streams may have the usage in `x_groq`.
 */
export const GROQ: Dialect = { ...STANDARD, name: 'groq', emptyContent: '' };
