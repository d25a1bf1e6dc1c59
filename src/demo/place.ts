import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnvironment, SETTINGS } from '../config.js';
import { PAYMENTS_FILE } from './agent.js';
import { type PaymentLine, paymentLine } from './pay.js';

/** Settings of the user that a live model needs; all others would lead the demo out of its own directory. */
const KEPT: ReadonlySet<string> = new Set(['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OLLAMA_API_KEY', 'OLLAMA_HOST']);

/** A directory of its own: a database, a payments file and a configuration. */
export interface Place {
  readonly dir: string;
  readonly paymentsFile: string;
  readonly tokenFile: string;
  readonly env: NodeJS.ProcessEnv;
}

export async function makePlace(model: string | null): Promise<Place> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-demo-'));
  await writeFile(join(dir, 'holdfast.config.ts'), configWith(model));
  const dataDir = join(dir, '.holdfast');
  const without = SETTINGS.filter(({ name }) => !KEPT.has(name)).map(({ name }) => [name, undefined]);
  return {
    dir,
    paymentsFile: join(dataDir, 'demo', PAYMENTS_FILE),
    tokenFile: join(dataDir, 'token'),
    env: childEnvironment({ ...Object.fromEntries(without), HOLDFAST_LOG_LEVEL: 'warn' }),
  };
}

const configWith = (model: string | null): string =>
  `import { demoConfig } from 'holdfast/demo';\n\nexport default demoConfig(${model === null ? '' : JSON.stringify({ model })});\n`;

export const removePlace = ({ dir }: Place): Promise<void> => rm(dir, { recursive: true, force: true, maxRetries: 5 });

/** The same at the end of the process, where a server may still be closing its files. */
export const removePlaceNow = ({ dir }: Place): void =>
  rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });

export const tokenIn = ({ tokenFile }: Place): string => readFileSync(tokenFile, 'utf8').trim();

export function paymentsIn({ paymentsFile }: Place): readonly PaymentLine[] {
  if (!existsSync(paymentsFile)) return [];
  const lines = readFileSync(paymentsFile, 'utf8').split('\n');
  // A line without its end is being written.
  return lines.slice(0, -1).map((line) => paymentLine.parse(JSON.parse(line)));
}
