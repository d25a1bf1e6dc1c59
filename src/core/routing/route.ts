import { z } from 'zod';

export const ROUTE_STRATEGIES = [
  'round_robin',
  'cost_optimized',
  'capability_based',
  'load_balanced',
  'experiment',
] as const;
export type RouteStrategy = (typeof ROUTE_STRATEGIES)[number];

/** How an attempt ended, or why a candidate was passed over without one. */
const ROUTE_OUTCOMES = [
  'answered',
  /** It cannot serve the request; nothing was sent. */
  'unfit',
  /** It rests after failures, or because its server asked for that; nothing was sent. */
  'resting',
  /** A budget did not let it go out; nothing was sent. */
  'refused',
  'rate_limited',
  /** What its provider lets be spent is used up. */
  'exhausted',
  'context_exceeded',
  /** Its server refused the request as it is, or the key, or does not know the model. */
  'rejected',
  'timeout',
  'failed',
] as const;
export type RouteOutcome = (typeof ROUTE_OUTCOMES)[number];

const routeAttempt = z.object({ model: z.string(), outcome: z.enum(ROUTE_OUTCOMES) });
export type RouteAttempt = z.infer<typeof routeAttempt>;

/** Attempts that are kept of a route: the newest. */
export const KEPT_ATTEMPTS = 32;

const choice = {
  router: z.string().describe('Its name, without `router/`.'),
  strategy: z.enum(ROUTE_STRATEGIES),
  arm: z.string().exactOptional().describe('The arm of the experiment that the run is in.'),
};

/** How a router came to the model that answered. Nothing in it differs in a replay: it is recorded with the answer. */
export const route = z
  .object({
    ...choice,
    model: z.string().describe('Who answered, as the configuration names it.'),
    attempts: z.array(routeAttempt).max(KEPT_ATTEMPTS).describe('Also those that were passed over, in their order.'),
    through: z.array(z.object(choice)).exactOptional().describe('The routers within the router, the outermost first.'),
  })
  .meta({ id: 'Route', description: 'How a router came to the model that answered.' });
export type Route = z.infer<typeof route>;
