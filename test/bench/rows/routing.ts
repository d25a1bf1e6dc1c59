import { type Model, type ModelRequest, type StreamEvent, Usage } from '@openai/agents';
import { planOf } from '../../../src/core/routing/router-plan.js';
import { UNWATCHED } from '../../../src/models/providers/model-attempt.js';
import { attemptOf } from '../../../src/models/providers/single-attempt.js';
import { RouterModel } from '../../../src/models/routing/router-model.js';
import type { Row } from '../row.js';

const response = { output: [], usage: new Usage() };

/** Answers at once, so that all that takes time is the way to it. */
const instant: Model = {
  getResponse: async () => response,
  getStreamedResponse: async function* (): AsyncIterable<StreamEvent> {
    yield { type: 'response_started' };
  },
};

const CANDIDATES = 8;

const router = new RouterModel(
  planOf('bench', {
    strategy: 'load_balanced',
    candidates: Array.from({ length: CANDIDATES }, (_, n) => ({
      ...{ model: `lab/${n}`, weight: n + 1, supports: ['tools' as const], contextTokens: 100_000 },
    })),
  }),
  {
    models: { getModel: () => instant },
    costOf: () => null,
    now: () => performance.now(),
    random: Math.random,
    wait: async () => undefined,
    onFailed: () => undefined,
  },
);

/** A conversation of some length: its tokens are estimated for each request. */
const request: ModelRequest = {
  systemInstructions: 'You answer letters. '.repeat(50),
  input: Array.from({ length: 40 }, (_, n) => ({
    role: 'user' as const,
    content: `Letter ${n}: ${'word '.repeat(40)}`,
  })),
  modelSettings: {},
  tools: [],
  outputType: 'text',
  handoffs: [],
  tracing: false,
};

const context = { runId: 'run_bench', taskType: null, watch: UNWATCHED };
const plainly = () => attemptOf(instant, { provider: 'lab', model: '0' }, context);
const routed = () => router.attempt(context);

/** What a router of eight candidates takes beside the attempt itself, for a conversation of 40 items. */
export const ROUTING: Row = {
  name: 'routing',
  title: 'time of one request at a model that answers at once, by a router and without',
  needsPostgres: false,
  sides: ['router', 'no router'],
  measure: async (side, scale) => {
    const attempt = side === 'router' ? routed : plainly;
    const count = scale === 'quick' ? 5_000 : 50_000;
    const ask = async (times: number): Promise<number> => {
      const begun = performance.now();
      for (let n = 0; n < times; n++) await attempt().getResponse({ ...request, signal: new AbortController().signal });
      return performance.now() - begun;
    };
    await ask(count / 5);
    return { 'one request': { value: ((await ask(count)) * 1000) / count, unit: 'µs' } };
  },
};
