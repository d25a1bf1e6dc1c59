import { randomUUID } from 'node:crypto';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { type ErrorCode, HoldfastError } from '../core/errors/errors.js';
import { withoutSecrets } from '../models/secrets/known-secrets.js';
import { identify } from './auth/gate.js';
import { checkHost, type ServerNames } from './auth/host.js';
import { type ConsoleFiles, consoleRoutes } from './console-files.js';
import { OPEN_ROUTES } from './probes.js';
import { asHoldfastError, PROBLEM_TYPE, toProblem } from './problem.js';
import type { GuardedRoute } from './route.js';
import { ROUTES } from './routes.js';
import { type ServerContext, serve, serveOpen } from './serve.js';
import { SIGN_IN_ROUTES } from './sign-in-routes.js';

const RETRY_AFTER_SECONDS = '5';

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

const METHODS = { GET: 'get', POST: 'post', DELETE: 'delete' } as const;

const requestIdOf = (response: Response): string => String(response.getHeader('X-Request-Id'));
const isProbe = (path: string): boolean => OPEN_ROUTES.some((route) => route.path === path);
const isOpen = (path: string): boolean => isProbe(path) || SIGN_IN_ROUTES.some((route) => route.path === path);

/** Which route a request came to; what comes to none is one. */
const matchedRoute = ({ path }: Request): string => ROUTE_PATHS.find(([shape]) => shape.test(path))?.[1] ?? 'none';
const ROUTE_PATHS = [...new Set(ROUTES.map((route) => route.path))].map(
  (path) => [new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`), path] as const,
);
/** Methods are any word of a client. */
const methodOf = (method: string): string => (method in METHODS || method === 'HEAD' ? method : 'other');

const begin =
  ({ engine, log, life }: ServerContext): RequestHandler =>
  (request, response, next) => {
    const startedAt = performance.now();
    const { method, path } = request;
    response.set(HEADERS).set('X-Request-Id', randomUUID());
    if (life.draining) response.set('Connection', 'close');
    response.once('close', () => {
      const seconds = (performance.now() - startedAt) / 1000;
      engine.countRequest({
        method: methodOf(method),
        route: matchedRoute(request),
        status: response.statusCode,
        seconds,
      });
      if (isProbe(path)) return;
      const durationMs = Math.round(performance.now() - startedAt);
      const requestId = requestIdOf(response);
      log.info(
        { component: 'http', event: 'request', requestId, method, path, status: response.statusCode, durationMs },
        'request',
      );
    });
    next();
  };

/** `/api/v1/runs/{id}` as Express writes it. */
const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

const methodsAt = (path: string): string =>
  ROUTES.filter((route) => route.path === path)
    .map(({ method }) => (method === 'GET' ? 'GET, HEAD' : method))
    .join(', ');

const refuseMethod =
  (path: string, context: ServerContext): RequestHandler =>
  (request, response) => {
    if (!isOpen(path)) identify(request, context.callers);
    const allowed = methodsAt(path);
    response.set('Allow', allowed);
    throw new HoldfastError('method_not_allowed', `${request.method} is not a method of ${path}; expected ${allowed}.`);
  };

const refusePath =
  (context: ServerContext): RequestHandler =>
  (request) => {
    identify(request, context.callers);
    throw new HoldfastError('not_found', `There is no route ${request.method} ${request.path}.`);
  };

/** Express reports a path that is not percent-encoded UTF-8 as an error with a status of its own. */
const ofPath = (thrown: unknown): unknown =>
  thrown instanceof URIError
    ? new HoldfastError('invalid_request', 'The path is not percent-encoded UTF-8.', { cause: thrown })
    : thrown;

/** Of these the client is not told the reason. Each request fails with one while the database is away: their line has no stack. */
const HIDING: ReadonlySet<ErrorCode> = new Set([
  'database_unreachable',
  'database_full',
  'database_read_only',
  'database_busy',
]);

const fail =
  ({ log }: ServerContext): ErrorRequestHandler =>
  (thrown: unknown, request, response, _next) => {
    const error = asHoldfastError(ofPath(thrown));
    const requestId = requestIdOf(response);
    if (error.code === 'internal')
      log.error({ component: 'http', event: 'request_failed', requestId, err: error.cause }, 'a request failed');
    else if (HIDING.has(error.code))
      log.warn(
        { component: 'http', event: 'request_failed', requestId, error: String(error.cause) },
        'a request failed',
      );
    // Nothing can be said any more in the middle of an answer; the client sees it cut and asks again.
    if (response.headersSent) return void response.destroy();
    if (error.status === 401) response.set('WWW-Authenticate', 'Bearer realm="holdfast"');
    if (error.status === 429 || error.status === 503) response.set('Retry-After', RETRY_AFTER_SECONDS);
    response
      .status(error.status)
      .type(PROBLEM_TYPE)
      .send(JSON.stringify(withoutSecrets(toProblem(error, `${request.baseUrl}${request.path}`, requestId))));
  };

/** What an app serves. */
export interface Served {
  readonly routes: readonly GuardedRoute[];
  /** Null: no console, and no sign-in of browsers. */
  readonly console: ConsoleFiles | null;
}

/** The Express app over routes, over those that need no token, and over the console. It serves nothing else. */
export function createApp(context: ServerContext, names: ServerNames, { routes, console }: Served): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  app.set('query parser', 'simple');
  app.use(begin(context), checkHost(names));
  const open = [...OPEN_ROUTES, ...(console === null ? [] : SIGN_IN_ROUTES)];
  for (const route of routes) {
    app[METHODS[route.method]](expressPath(route.path), serve(route, context));
  }
  for (const route of open) app[METHODS[route.method]](route.path, serveOpen(route, context));
  if (console !== null) for (const [path, handler] of consoleRoutes(console)) app.get(path, handler);
  for (const path of new Set([...routes, ...open].map((route) => route.path)))
    app.all(expressPath(path), refuseMethod(path, context));
  app.use(refusePath(context), fail(context));
  return app;
}
