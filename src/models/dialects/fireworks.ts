import { type Dialect, STANDARD, thoughtAs } from './dialect.js';

/** Fireworks gives reasoning as `reasoning_content`, takes it back under that name, and refuses fields that it does not know. */
export const FIREWORKS: Dialect = { ...STANDARD, name: 'fireworks', turnFields: thoughtAs('reasoning_content') };
