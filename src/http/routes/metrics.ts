import { z } from 'zod';
import { guarded, NO_INPUT, plain } from '../route.js';

export const METRICS_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/metrics',
    operationId: 'getMetrics',
    summary: 'Read what Prometheus scrapes, in its text format.',
    role: 'viewer',
    media: 'text/plain',
    response: z.string(),
    errors: [],
    handle: async (_input, { engine, caller }) => {
      const { contentType, text } = await engine.metrics(caller);
      return plain(contentType, text);
    },
  }),
];
