import { realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { Model, ModelProvider } from '@openai/agents';
import { NativeProvider } from '../native/native-provider.js';
import { nativeRecorded } from '../native/native-recording.js';
import { OllamaModel } from '../ollama/ollama-model.js';
import { ollamaRecorded } from '../ollama/ollama-recording.js';
import { OpenAICompatibleProvider } from '../openai/openai-compatible-provider.js';
import { badCassette, type Cassette } from './cassette.js';
import { readCassette } from './cassette-file.js';
import { playingFetch } from './cassette-player.js';
import { openaiRecorded } from './openai-recording.js';

/** Where a recorded model would be asked, which nobody is. */
const NOWHERE = 'http://cassette.invalid';

/**
 * Models that answer as they once did: the name of one is that of a cassette, `weather` for `weather.jsonl` in the directory. Nothing is
 * contacted, no key is needed. A cassette is read when its name is asked for first.
 */
export class ReplayModelProvider implements ModelProvider {
  readonly #directory: string;
  readonly #models = new Map<string, Model>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Throws `cassette_invalid` for a name that is none, for a missing cassette and for one that cannot be read. */
  async getModel(modelName = ''): Promise<Model> {
    const known = this.#models.get(modelName);
    if (known !== undefined) return known;
    const model = await playedModel(readCassette(pathOf(this.#directory, modelName), modelName));
    this.#models.set(modelName, model);
    return model;
  }
}

async function playedModel(cassette: Cassette): Promise<Model> {
  const { api, model } = cassette.head;
  const send = playingFetch(cassette);
  if (api === 'ollama') return new OllamaModel(model, { ...ollamaRecorded(cassette), baseURL: NOWHERE, fetch: send });
  const native = nativeRecorded(cassette);
  if (native !== null) return new NativeProvider({ ...native, baseURL: NOWHERE }, () => null, send).getModel(model);
  const { options, dialect } = openaiRecorded(cassette);
  const recorded = { dialect };
  const played = { ...options, api: api === 'responses' ? api : 'chat', key: null } as const;
  return new OpenAICompatibleProvider(played, () => null, send, recorded).getModel(model);
}

/** A name has parts of letters, digits, `_`, `-` and `.`, which do not begin with a dot; links do not lead out either. */
function pathOf(directory: string, name: string): string {
  if (!/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/.test(name)) {
    throw badCassette(
      `${JSON.stringify(name)} is no name of a cassette; expected one such as "weather" or "demo/weather".`,
    );
  }
  try {
    const path = realpathSync(join(directory, `${name}.jsonl`));
    if (path.startsWith(`${realpathSync(directory)}${sep}`)) return path;
  } catch (cause) {
    throw badCassette(`There is no cassette "${name}": ${join(directory, `${name}.jsonl`)} is missing.`, cause);
  }
  throw badCassette(`The cassette "${name}" is not in ${directory}: it is a link that leads out.`);
}
