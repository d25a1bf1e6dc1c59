import { MODEL_PROVIDERS } from '../../core/models/model-provider-table.js';
import { CEREBRAS } from './cerebras.js';
import { DEEPSEEK } from './deepseek.js';
import { type Dialect, STANDARD } from './dialect.js';
import { FIREWORKS } from './fireworks.js';
import { GOOGLE } from './google.js';
import { GROQ } from './groq.js';
import { LMSTUDIO } from './lmstudio.js';
import { MISTRAL } from './mistral.js';
import { OPENROUTER } from './openrouter.js';
import { TOLERANT } from './tolerant.js';
import { XAI } from './xai.js';

/** Known providers by prefix. The others of the provider table, as vLLM, llama.cpp and Together AI, speak the tolerant dialect. */
const DIALECTS: { readonly [prefix: string]: Dialect } = {
  openai: { ...STANDARD, name: 'openai' },
  anthropic: { ...STANDARD, name: 'anthropic' },
  cerebras: CEREBRAS,
  deepseek: DEEPSEEK,
  fireworks: FIREWORKS,
  google: GOOGLE,
  groq: GROQ,
  lmstudio: LMSTUDIO,
  mistral: MISTRAL,
  openrouter: OPENROUTER,
  xai: XAI,
};

/** Returns the dialect of a known provider, else that of the host, else the tolerant one. */
export function dialectOf(prefix: string | undefined, baseURL: string): Dialect {
  if (prefix !== undefined) return DIALECTS[prefix] ?? TOLERANT;
  const { host } = new URL(baseURL);
  const known = Object.keys(DIALECTS).find((name) => hostOf(name) === host);
  return (known === undefined ? undefined : DIALECTS[known]) ?? TOLERANT;
}

const hostOf = (prefix: string): string | null => {
  const row = MODEL_PROVIDERS[prefix];
  return row === undefined ? null : new URL(row.baseURL).host;
};

/** Returns the dialect that a recording names; null for a name that no dialect has. */
export const dialectNamed = (name: string): Dialect | null =>
  [TOLERANT, ...Object.values(DIALECTS)].find((dialect) => dialect.name === name) ?? null;
