import {
  addressProblem,
  headersOf,
  messageOf,
  retryWaitS,
  signingKeyOf,
  type Webhook,
  type WebhookList,
  type WebhookView,
  webhooksConfig,
} from '../../core/agents/webhook.js';
import { type Caller, mayOperate } from '../../core/caller.js';
import { codeOrText, HoldfastError } from '../../core/errors/errors.js';
import { invalidConfig } from '../../core/field-errors.js';
import type { SystemEvent } from '../../core/log/system-event.js';
import { causesOf } from '../../models/failures/failure-causes.js';
import { HeldSecret } from '../../models/secrets/held-secret.js';
import { missingAt } from '../../models/secrets/secret.js';
import { countOldEvents, readSystemEvents } from '../../storage/ops/system-events.js';
import {
  dueWebhooks,
  releaseWebhook,
  takeWebhook,
  toldWebhooks,
  type WebhookPlace,
  webhookFailed,
  webhookTold,
} from '../../storage/ops/webhooks.js';
import { untilStopped } from '../concurrency/work-off.js';
import type { EngineConfig } from '../engine-config.js';
import type { EngineContext } from '../engine-context.js';

const EVENTS_AT_ONCE = 100;
const TIMEOUT_MS = 10_000;
/** An event is tried for so long. */
const TRIED_MS = 24 * 3_600_000;

/** The webhooks of a configuration. Throws `config_invalid`, also for a secret that is not there. */
export function webhooksIn(config: Pick<EngineConfig, 'webhooks'>): readonly Webhook[] {
  const webhooks = webhooksConfig.parse(config.webhooks ?? []);
  const missing = webhooks.flatMap(({ url, signingKey, bearer }, at) =>
    Object.entries({ url, signingKey, bearer }).flatMap(([field, value]) =>
      missingAt(`/webhooks/${at}/${field}`, value),
    ),
  );
  if (missing.length > 0) throw invalidConfig('The engine', missing);
  return webhooks;
}

/** Tells webhooks what they were not told yet, each in the order of the events, one worker at a time. */
export async function tellWebhooks(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const { webhooks, stepContext } = context;
  const due = await dueWebhooks(stepContext.knex, webhooks);
  await Promise.all(webhooks.filter(({ name }) => due.has(name)).map((one) => tellWebhook(context, one, isStopping)));
}

async function tellWebhook(context: EngineContext, webhook: Webhook, isStopping: () => boolean): Promise<void> {
  const { knex, newId } = context.stepContext;
  const holder = newId();
  const place = await takeWebhook(knex, webhook.name, holder);
  if (place === null) return;
  try {
    await tellFrom(context, { webhook, holder, isStopping, secrets: secretsOf(webhook) }, place);
  } finally {
    await releaseWebhook(knex, webhook.name, holder);
  }
}

interface Telling {
  readonly webhook: Webhook;
  readonly holder: string;
  readonly isStopping: () => boolean;
  readonly secrets: Secrets;
}

/** Each is read when the first event of a look is sent, and kept for those after it. */
interface Secrets {
  readonly url: string | HeldSecret;
  readonly signingKey: HeldSecret | null;
  readonly bearer: HeldSecret | null;
}

const secretsOf = ({ url, signingKey, bearer }: Webhook): Secrets => ({
  url: typeof url === 'string' ? url : new HeldSecret(url),
  signingKey: signingKey === undefined ? null : new HeldSecret(signingKey),
  bearer: bearer === undefined ? null : new HeldSecret(bearer),
});

async function tellFrom(context: EngineContext, telling: Telling, { position, tries }: WebhookPlace): Promise<void> {
  const { knex } = context.stepContext;
  const { webhook, holder, isStopping } = telling;
  const { name, tenant, kinds } = webhook;
  let [after, failed] = [position, tries];
  while (!isStopping()) {
    const asked = { tenant, shared: true, after, limit: EVENTS_AT_ONCE, kinds };
    const { events, more, head } = await readSystemEvents(knex, asked);
    if (head.trimmed > after) {
      tellTrimmed(context, name, { after, upTo: head.trimmed });
      after = head.trimmed;
    }
    if (!(await tellPage(context, telling, { events, after, failed }))) return;
    [after, failed] = [events.at(-1)?.seq ?? after, 0];
    if (more) continue;
    // Events of other kinds need not be looked at again. The head was read before the events, which may go beyond it.
    // One whose last events were given up fails no more.
    const position = Math.max(head.position, after);
    if (position > after || tries > 0) await webhookTold(knex, name, holder, { position, delivered: false });
    return;
  }
}

interface EventsToTell {
  readonly events: readonly SystemEvent[];
  /** The place before them. */
  readonly after: number;
  /** How often the first one failed. */
  readonly failed: number;
}

/** False: not all of them were told, and the webhook waits for a later look or has another worker. */
async function tellPage(
  context: EngineContext,
  telling: Telling,
  { events, after, failed }: EventsToTell,
): Promise<boolean> {
  const { webhook, holder, isStopping } = telling;
  for (const [at, event] of events.entries()) {
    if (isStopping()) return false;
    const problem = await problemOfSending(telling, event);
    // Another worker sends it again.
    if (problem !== null && isStopping()) return false;
    context.metrics.webhookSent(webhook.name, problem === null ? 'delivered' : 'failed');
    if (problem !== null) {
      const place = { after: events[at - 1]?.seq ?? after, tries: at === 0 ? failed + 1 : 1 };
      await giveBack(context, telling, { ...place, event, problem });
      return false;
    }
    const told = { position: event.seq, delivered: true };
    if (!(await webhookTold(context.stepContext.knex, webhook.name, holder, told))) return false;
  }
  return true;
}

interface Failed {
  readonly after: number;
  readonly event: SystemEvent;
  readonly problem: string;
  readonly tries: number;
}

/** Tries again later. Events that are too old for it are given up together, so that a server that comes back gets the newer ones. */
async function giveBack(
  { stepContext: { knex, now }, metrics, log }: EngineContext,
  { webhook: { name, tenant, kinds }, holder }: Telling,
  { after, event, problem, tries }: Failed,
): Promise<void> {
  const isOld = Date.parse(event.at) < now() - TRIED_MS;
  const asked = { tenant, shared: true, after, kinds, olderThanMs: TRIED_MS };
  const { events: lost, upTo: position } = isOld ? await countOldEvents(knex, asked) : { events: 0, upTo: after };
  const waitS = retryWaitS(tries);
  await webhookFailed(knex, name, holder, { position, waitS, problem, lost });
  log.warn(
    { component: 'webhooks', event: 'webhook_failed', name, seq: event.seq, problem, tries, waitS },
    'a webhook could not be told of an event; it is tried again',
  );
  if (lost === 0) return;
  metrics.webhookSent(name, 'given_up', lost);
  log.error(
    { component: 'webhooks', event: 'webhook_events_given_up', name, events: lost, upTo: position },
    'events that a webhook could not be told of for a day are not tried any more',
  );
}

function tellTrimmed(
  { log }: EngineContext,
  name: string,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): void {
  log.error(
    { component: 'webhooks', event: 'webhook_events_trimmed', name, after, upTo },
    'retention removed events that a webhook was not told of',
  );
}

/** Sends an event. Gives what went wrong, without anything of the address or the answer; null: the server has taken it. */
const problemOfSending = ({ secrets, isStopping }: Telling, event: SystemEvent): Promise<string | null> =>
  untilStopped(isStopping, (stopped) => send(secrets, event, stopped).catch(failureOf));

async function send(
  { url, signingKey, bearer }: Telling['secrets'],
  event: SystemEvent,
  stopped: AbortSignal,
): Promise<string | null> {
  const [address, key, token] = await Promise.all([
    typeof url === 'string' ? url : url.value(),
    signingKey === null ? null : signingKey.value(),
    bearer === null ? null : bearer.value(),
  ]);
  const unfit = addressProblem(address, token !== null);
  if (unfit !== null) return `the url ${unfit}`;
  const bytes = key === null ? null : signingKeyOf(key);
  if (key !== null && bytes === null) return 'the signingKey is no whsec_ with 24 to 64 bytes in base64';
  const message = messageOf(event);
  const headers = headersOf(message, Math.floor(Date.now() / 1000), { signingKey: bytes, bearer: token });
  const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), stopped]);
  const answer = await fetch(address, { method: 'POST', headers, body: message.body, redirect: 'manual', signal });
  await answer.body?.cancel();
  return answer.ok ? null : `the server answered ${answer.status}`;
}

function failureOf(error: unknown): string {
  if (error instanceof HoldfastError) return error.message;
  const causes = causesOf(error);
  if (causes.some((cause) => cause instanceof Error && cause.name === 'TimeoutError'))
    return `no answer within ${TIMEOUT_MS / 1000} s`;
  // `fetch` sends nothing to ports of other protocols, such as 25.
  if (causes.some((cause) => cause instanceof Error && cause.message === 'bad port'))
    return 'the port of the url is one that no request may go to';
  const coded = causes.find((cause) => cause instanceof Error && 'code' in cause);
  return coded === undefined ? 'the server cannot be reached' : `the server cannot be reached: ${codeOrText(coded)}`;
}

/** What clients ask of webhooks. */
export const WEBHOOK_OPERATIONS = {
  /** The webhooks of the configuration in its order: of the caller's tenant, or with a role in the installation of all tenants. */
  listWebhooks: async ({ webhooks, stepContext: { knex } }: EngineContext, caller: Caller): Promise<WebhookList> => {
    const shown = webhooks.filter(({ tenant }) => tenant === caller.tenant || mayOperate(caller, 'viewer'));
    const { told, unreadable = [] } = await toldWebhooks(
      knex,
      shown.map(({ name }) => name),
    );
    const isLegible = ({ name }: { readonly name: string }) => unreadable.every(({ id }) => id !== name);
    return {
      items: shown.filter(isLegible).map(({ name, tenant, kinds }): WebhookView => {
        const { problem, failingSince, behind, ...of } = told.get(name) ?? NEW;
        const state = !told.has(name) ? 'waiting' : problem !== null ? 'failing' : behind > 0 ? 'behind' : 'told';
        return { name, tenant, kinds: [...kinds], state, ...of, behind, failingSince, problem };
      }),
      ...(unreadable.length > 0 && { unreadable: [...unreadable] }),
    };
  },
};

const NEW = {
  ...{ delivered: 0, deliveredAt: null, givenUp: 0, behind: 0, tries: 0, failingSince: null, problem: null },
  nextTryAt: null,
};
