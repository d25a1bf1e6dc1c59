import { AsyncLocalStorage } from 'node:async_hooks';
import { Allowance } from '../core/limits/allowance.js';

const requests = new AsyncLocalStorage<Allowance | null>();

/** Everything that one request does shares one allowance: that of the request which it is a part of already, or a new one. */
export const inOneRequest = <T>(work: () => T): T =>
  requests.getStore() ? work() : requests.run(new Allowance(), work);

/** What a run does is no part of the request that woke it. */
export const outsideRequests = <T>(work: () => T): T => requests.run(null, work);

/** What the request that is at work may still take. To be handed on: what is made in a step or a workflow has an allowance of its own. */
export const allowanceOfRequest = (): Allowance => requests.getStore() ?? new Allowance();
