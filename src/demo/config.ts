import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { dataDir } from '../config.js';
import { defineConfig, type HoldfastConfig } from '../engine/agents/define.js';
import { readSetting } from '../engine/secrets/setting-secrets.js';
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

/** Not compiled: the package has them. */
export const demoFilesDir = (): string => dirname(createRequire(import.meta.url).resolve('#demo-ledger'));
