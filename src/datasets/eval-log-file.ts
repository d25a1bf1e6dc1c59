import { isObject, type JsonObject, type JsonValue } from '../core/json.js';
import { Growing, type Naming, type PartFile } from './part-file.js';

/** What an evaluation log says of itself before its samples. */
export interface EvalLogHead {
  readonly id: string;
  readonly createdAt: string;
}

const LOG_VERSION = 2;

/**
 * An evaluation log of Inspect: one JSON document for all samples of a part. Its head has sums over them, so that it is written when the last
 * one is known; until then their texts are in memory, as many as a part may have.
 */
export function evalLogFile(path: string, head: EvalLogHead, naming: Naming = { digested: false }): PartFile {
  const growing = new Growing(path, naming);
  const texts: string[] = [];
  const seen = new Samples();
  return {
    write: async (rows) => {
      let chars = 0;
      for (const row of rows) {
        const text = JSON.stringify(row);
        texts.push(text);
        seen.add(row);
        chars += text.length;
      }
      return chars;
    },
    end: async () => {
      if (texts.length === 0) return null;
      const before = JSON.stringify(seen.headOf(head));
      await growing.append(Buffer.from(`${before.slice(0, -1)},"samples":[`));
      for (const [index, text] of texts.entries())
        await growing.append(Buffer.from(`${index === 0 ? '' : ','}\n${text}`));
      await growing.append(Buffer.from('\n]}\n'));
      return { rows: texts.length, ...(await growing.end()) };
    },
    abandon: () => growing.abandon(),
  };
}

const numberIn = (value: JsonValue | undefined): number => (typeof value === 'number' ? value : 0);
const objectIn = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});

/** Sums over the samples of a log. */
class Samples {
  readonly #ids: string[] = [];
  readonly #usage = new Map<string, Map<string, number>>();
  readonly #rewards: number[] = [];
  #completed = 0;

  add(sample: JsonObject): void {
    this.#ids.push(String(sample['id']));
    if (sample['error'] === undefined) this.#completed++;
    const { value } = objectIn(objectIn(sample['scores'])['reward']);
    if (typeof value === 'number') this.#rewards.push(value);
    for (const [model, used] of Object.entries(objectIn(sample['model_usage']))) {
      const sums = this.#usage.get(model) ?? new Map<string, number>();
      for (const [name, count] of Object.entries(objectIn(used)))
        sums.set(name, (sums.get(name) ?? 0) + numberIn(count));
      this.#usage.set(model, sums);
    }
  }

  headOf({ id, createdAt }: EvalLogHead): JsonObject {
    const models = [...this.#usage.keys()].sort();
    const [only] = models;
    const usage = models.map((model) => [model, Object.fromEntries(this.#usage.get(model) ?? [])]);
    return {
      version: LOG_VERSION,
      status: 'success',
      eval: {
        ...{ run_id: id, created: createdAt, task: id, task_id: id, task_version: 0 },
        dataset: { name: id, samples: this.#ids.length, sample_ids: this.#ids },
        model: models.length === 1 && only !== undefined ? only : 'several',
        config: {},
        packages: {},
      },
      plan: { name: 'plan', steps: [], config: {} },
      results: { total_samples: this.#ids.length, completed_samples: this.#completed, scores: this.#scores() },
      stats: { started_at: createdAt, completed_at: createdAt, model_usage: Object.fromEntries(usage) },
    };
  }

  #scores(): JsonValue[] {
    const scored = this.#rewards.length;
    if (scored === 0) return [];
    const mean = this.#rewards.reduce((sum, reward) => sum + reward, 0) / scored;
    const metrics = { mean: { name: 'mean', value: mean } };
    const unscored = this.#ids.length - scored;
    return [{ name: 'reward', scorer: 'reward', scored_samples: scored, unscored_samples: unscored, metrics }];
  }
}
