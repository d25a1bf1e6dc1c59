import { z } from 'zod';
import { usdText } from '../money.js';
import { ROUTE_STRATEGIES } from './route.js';

const CAPABILITIES = ['tools', 'vision', 'structured_output'] as const;
export type ModelCapability = (typeof CAPABILITIES)[number];

const LONGEST_TIMER_MS = 2 ** 31 - 1;
const ms = z.int().min(1).max(LONGEST_TIMER_MS);
const modelName = z.string().min(1).max(300);

const candidateFields = z.strictObject({
  model: modelName,
  /** Its part of the requests in `load_balanced`. Default 1; 0: only when the others cannot. */
  weight: z.number().min(0).max(1_000_000).optional(),
  /** All that it can do. Default: unknown, and it is tried. */
  supports: z.array(z.enum(CAPABILITIES)).optional(),
  /** Tokens that go in and come out together. Default: unknown, and it is tried. */
  contextTokens: z.int().min(1).optional(),
  /** What `capability_based` prefers it for. */
  taskTypes: z.array(z.string().min(1).max(64)).min(1).max(32).optional(),
  /** For a whole answer, or the first token of a streamed one. Default: that of the router. */
  timeoutMs: ms.optional(),
});

const candidate = z.union([modelName, candidateFields], { error: 'expected the name of a model, or { model, … }' });

const shared = {
  /** Asked in this order when no candidate answers. */
  fallback: z.array(candidate).max(16).optional(),
  /** For a whole answer, or the first token of a streamed one. Default: ten minutes. */
  timeoutMs: ms.optional(),
  retries: z
    .strictObject({
      /** How often one candidate is asked for one request. Default 2. */
      attempts: z.int().min(1).max(10).optional(),
      /** Before a candidate is asked again; doubles each time. Default 500. */
      minWaitMs: z.int().min(0).max(LONGEST_TIMER_MS).optional(),
      /** How long one request may wait in all. Default 30,000. */
      maxWaitMs: z.int().min(0).max(LONGEST_TIMER_MS).optional(),
    })
    .optional(),
  /** A candidate rests when, within the window, all three bounds are reached. */
  breaker: z
    .strictObject({
      /** Attempts that failed. Default 3, at least 2. */
      failures: z.int().min(2).max(100_000).optional(),
      /** Failed ones of all attempts. Default 50. */
      percentage: z.number().min(0).max(100).optional(),
      /** Attempts. Default 4, at least 2. */
      minimumRequests: z.int().min(2).max(100_000).optional(),
      /** Default 60,000. */
      windowMs: ms.optional(),
      /** How long it rests before one request tries it again. Default 30,000. */
      cooldownMs: ms.optional(),
      /** The same when what its provider lets be spent is used up. Default an hour. */
      exhaustedCooldownMs: ms.optional(),
      /** HTTP statuses that count as failures, beside timeouts and lost connections. Default 401, 403, 404, 408, 429 and 5xx. */
      statuses: z.array(z.int().min(400).max(599)).max(200).optional(),
    })
    .optional(),
  /** What becomes of a streamed answer that breaks off after its first token. `restart`: it is asked for again. Default `fail`. */
  brokenStream: z.enum(['fail', 'restart']).optional(),
};

const arm = candidateFields
  .omit({ weight: true })
  .extend({ name: z.string().min(1).max(64), share: z.number().min(0).max(1) });

const candidates = z.array(candidate).min(1, 'expected at least one candidate').max(32);

const routerShape = z.discriminatedUnion(
  'strategy',
  [
    z.strictObject({ strategy: z.literal('round_robin'), candidates, ...shared }),
    z.strictObject({
      strategy: z.literal('cost_optimized'),
      candidates,
      /** Candidates that would cost more for a request, by estimate, are not asked; nor are those of unknown price. */
      budget: z.strictObject({ usdPerRequest: usdText }).optional(),
      ...shared,
    }),
    z.strictObject({ strategy: z.literal('capability_based'), candidates, ...shared }),
    z.strictObject({ strategy: z.literal('load_balanced'), candidates, ...shared }),
    z.strictObject({
      strategy: z.literal('experiment'),
      arms: z.array(arm).min(1, 'expected at least one arm').max(32),
      /** A text that spreads runs over the arms: another text spreads them again. Default: the name of the router. */
      experiment: z.string().min(1).max(200).optional(),
      ...shared,
    }),
  ],
  { error: `expected a strategy: ${ROUTE_STRATEGIES.join(', ')}` },
);

/** The routers of a configuration: the model `router/<name>` is the router of that name. */
export const routersShape = z.record(
  z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'a name of a router has letters, digits, ".", "_" and "-", 64 at most'),
  routerShape,
);
export type RouterConfig = z.infer<typeof routerShape>;
export type RoutersConfig = z.infer<typeof routersShape>;
