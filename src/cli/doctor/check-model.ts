import type { Settings } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { HoldfastConfig } from '../../engine/agents/define.js';
import { providerOf } from '../../engine/dbos/register-segments.js';
import { declaredSecrets, knowAll } from '../../engine/secrets/declared-secrets.js';
import { type ProbeRow, probeModel } from '../../models/providers/probe-model.js';
import type { CliServices } from '../cli-services.js';
import { engineSettings } from '../commands/server/server-process.js';
import { findConfig, loadConfig } from '../load-config.js';
import { failed } from './finding.js';

/** For all questions to a server together: a local one may load its model first. */
const LIMITS = { withinMs: 300_000, maxTokens: 2_000 };

/** What works with the server of one model, asked as the engine asks it. Every request is paid for. */
export async function checkModel(
  settings: Settings,
  services: CliServices,
  name: string,
): Promise<readonly ProbeRow[]> {
  try {
    const config = { ...(await configOf(settings, services)), ...engineSettings(settings), recordTo: null };
    await knowAll(declaredSecrets(config));
    if (/(^|\/)\s*$/.test(name))
      throw new HoldfastError('model_unknown', `${JSON.stringify(name)} names no model.`, {
        hint: 'Name one as an agent does, such as ollama/qwen3:8b.',
      });
    if (name.startsWith('router/'))
      throw new HoldfastError('model_unknown', `${name} is a router, and not the model of one server.`, {
        hint: 'Check each of its candidates by its own name.',
      });
    return await probeModel(await providerOf(config).getModel(name), LIMITS);
  } catch (error) {
    return [{ ...failed('model', error), ms: null, inputTokens: null, outputTokens: null }];
  }
}

async function configOf({ configFile }: Settings, services: CliServices): Promise<HoldfastConfig> {
  const path = findConfig(configFile);
  return path === null ? { agents: [] } : await loadConfig(path, await services.ownModules());
}
