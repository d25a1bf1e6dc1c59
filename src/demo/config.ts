import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { dataDir } from '../config.js';
import { defineConfig, type HoldfastConfig } from '../engine/agents/define.js';
import { readSetting } from '../engine/secrets/one-setting.js';
import { treasurer } from './agent.js';
import { SCRIPTED_MODEL, scriptedProvider } from './scripted-model.js';

export interface DemoConfigOptions {
  /** Default: the scripted model, which needs no key. */
  readonly model?: string;
  /** Directory of the payments file. Default: `demo` in the data directory. */
  readonly workDir?: string;
}

/** The demo's agent as a configuration: `export default demoConfig()` in `holdfast.config.ts`. */
export const demoConfig = ({ model = SCRIPTED_MODEL, workDir }: DemoConfigOptions = {}): HoldfastConfig =>
  defineConfig({
    agents: [treasurer({ model, filesDir: demoFilesDir(), workDir: workDir ?? join(readSetting(dataDir), 'demo') })],
    providers: { scripted: scriptedProvider },
  });

/** The files lie beside the source, also when what runs was built from it. */
export function demoFilesDir(): string {
  const beside = join(import.meta.dirname, 'files');
  return existsSync(beside) ? beside : join(import.meta.dirname, '..', '..', '..', 'src', 'demo', 'files');
}
