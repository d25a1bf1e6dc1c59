import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { nameWithoutControls } from '../json.js';
import { SYSTEM_EVENT_KINDS, type SystemEvent, type SystemEventKind } from '../log/system-event.js';
import { unreadableItem } from '../page.js';
import { isThisMachine, secretPlace } from '../secrets/secret-place.js';

/** Requests that tell a server of events of the system. Their form: Standard Webhooks 1.0.0, https://www.standardwebhooks.com. */

const URL_CHARS = 2048;

/** What keeps requests from going to an address; null: nothing. `hasBearer`: they carry a token, which goes to no one on the way. */
export function addressProblem(text: string, hasBearer: boolean): string | null {
  if (text.length > URL_CHARS || !URL.canParse(text)) return 'is no address such as https://hooks.example.com/holdfast';
  const url = new URL(text);
  const { protocol, username, password } = url;
  if (protocol !== 'https:' && protocol !== 'http:') return 'must begin with https:// or http://';
  if (username !== '' || password !== '') return 'has a user or a password: give a token as `bearer`';
  return protocol === 'http:' && hasBearer && !isThisMachine(url)
    ? 'must begin with https://, unless it is this machine: each request carries a token'
    : null;
}

const kind = z.enum(SYSTEM_EVENT_KINDS as readonly [SystemEventKind, ...SystemEventKind[]]);
const key = secretPlace('WEBHOOK_KEY');
const WEBHOOKS_MOST = 20;

export const webhook = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'is no name such as on-call'),
    /** Where requests go. A place of a secret, where the address itself lets others in. */
    url: z.union([z.string(), key]),
    /** The kinds of events that it is told of. */
    kinds: z.array(kind).min(1).max(SYSTEM_EVENT_KINDS.length),
    /** Whose events it is told of, beside those of the installation. */
    tenant: nameWithoutControls.default('default'),
    /** Signs each request: `whsec_` and 24 to 64 bytes in base64. */
    signingKey: key.exactOptional(),
    /** Goes with each request, as `Authorization: Bearer`. */
    bearer: key.exactOptional(),
  })
  .superRefine(({ url, bearer }, context) => {
    const problem = typeof url === 'string' ? addressProblem(url, bearer !== undefined) : null;
    if (problem !== null) context.addIssue({ code: 'custom', path: ['url'], message: problem });
  });
export type Webhook = z.output<typeof webhook>;

export const webhooksConfig = z
  .array(webhook)
  .max(WEBHOOKS_MOST)
  .superRefine((webhooks, context) => {
    for (const [at, { name }] of webhooks.entries())
      if (webhooks.findIndex((other) => other.name === name) < at)
        context.addIssue({ code: 'custom', path: [at, 'name'], message: 'is the name of another webhook too' });
  });
export type WebhooksConfig = z.input<typeof webhooksConfig>;

const KEY = /^whsec_(?<base64>[A-Za-z0-9+/]{32,88}={0,2})$/;

/** The bytes of a signing key; null: it is none. */
export function signingKeyOf(text: string): Buffer | null {
  const bytes = Buffer.from(KEY.exec(text)?.groups?.['base64'] ?? '', 'base64');
  return bytes.length < 24 || bytes.length > 64 ? null : bytes;
}

/** What is sent of an event. Trying again sends the same id and the same body. */
export interface WebhookMessage {
  readonly id: string;
  readonly body: string;
}

export const messageOf = (event: SystemEvent): WebhookMessage => ({
  id: `evt_${event.seq}`,
  body: JSON.stringify({ type: event.kind, timestamp: event.at, data: event }),
});

/** `signingKey` null: nothing is signed. `atSeconds`: since 1970. */
export function headersOf(
  { id, body }: WebhookMessage,
  atSeconds: number,
  { signingKey, bearer }: { readonly signingKey: Buffer | null; readonly bearer: string | null },
): Readonly<Record<string, string>> {
  const signature = (bytes: Buffer): string =>
    createHmac('sha256', bytes).update(`${id}.${atSeconds}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(atSeconds),
    ...(signingKey === null ? {} : { 'webhook-signature': `v1,${signature(signingKey)}` }),
    ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
  };
}

const FIRST_WAIT_S = 5;
const LONGEST_WAIT_S = 300;

/** In how many seconds a request is tried again that failed so often. */
export const retryWaitS = (tries: number): number =>
  Math.min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** Math.min(tries - 1, 10));

/** How webhooks of the configuration are told. */

export const WEBHOOK_STATES = ['waiting', 'told', 'behind', 'failing'] as const;

export const webhookView = z
  .object({
    name: z.string(),
    tenant: z.string().describe('Whose events it is told of, beside those of the installation.'),
    kinds: z.array(z.enum(SYSTEM_EVENT_KINDS as readonly [SystemEventKind, ...SystemEventKind[]])),
    state: z
      .enum(WEBHOOK_STATES)
      .describe(
        '`waiting`: no worker looked at it yet. `told`: it has all its events. `behind`: a worker is to tell it more. ' +
          '`failing`: its next event could not be told.',
      ),
    delivered: z.int().describe('Events that its server has taken.'),
    deliveredAt: z.iso.datetime().nullable().describe('When the last of them was; null: none yet.'),
    givenUp: z.int().describe('Events that are not tried any more.'),
    behind: z.int().describe('Events of the system after its place, also those of other kinds.'),
    tries: z.int().describe('How often its next event failed.'),
    failingSince: z.iso.datetime().nullable(),
    problem: z
      .string()
      .nullable()
      .describe('What went wrong last, without the address and the answer; null: nothing since it was last told.'),
    nextTryAt: z.iso.datetime().nullable().describe('When a worker tries a failed event again; null: none failed.'),
  })
  .meta({ id: 'Webhook' });
export type WebhookView = z.infer<typeof webhookView>;

export const webhookList = z
  .object({
    items: z.array(webhookView),
    unreadable: z
      .array(unreadableItem)
      .exactOptional()
      .describe(
        'Webhooks, by their name, whose rows cannot be read, because someone changed them. Absent: there is none.',
      ),
  })
  .meta({ id: 'WebhookList' });
export type WebhookList = z.infer<typeof webhookList>;
