import { type Dialect, STANDARD, thoughtAs } from './dialect.js';

/** Cerebras refuses `reasoning_content` with 400 `wrong_api_format`, and takes reasoning back as `reasoning`. */
export const CEREBRAS: Dialect = { ...STANDARD, name: 'cerebras', turnFields: thoughtAs('reasoning') };
