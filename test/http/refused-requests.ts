import { MAX_BODY_BYTES } from './door.js';
import { ERASURES } from './refused-erasures.js';

/** What is asked, as `<actor> <method> <path below /api/v1>`; `{name}` is one of the stage. What comes: a code and pointers. */
export type Refused = readonly [
  what: string,
  request: string,
  body: unknown,
  refusal: string,
  headers?: Readonly<Record<string, string>>,
];

const TOO_LARGE = { message: 'x'.repeat(MAX_BODY_BYTES) };
const TEXT = { 'Content-Type': 'text/plain' };
const key = (value: string) => ({ 'Idempotency-Key': value });
const NONE = undefined;

const STANDING: readonly Refused[] = [
  ['of no run', 'vera GET runs/run_x/standing-decisions', NONE, 'run_unknown'],
  ['of another tenant', 'zoe GET runs/{twice}/standing-decisions', NONE, 'run_unknown'],
  ['of what is no id', 'vera GET runs/a%20b/standing-decisions', NONE, 'invalid_request /path/id'],
  [
    'in pages beyond measure',
    'vera GET runs/{twice}/standing-decisions?limit=500',
    NONE,
    'invalid_request /query/limit',
  ],
  ['revoked by an operator', 'otto DELETE runs/{twice}/standing-decisions/{standing}', NONE, 'forbidden'],
  ['revoked elsewhere', 'zoe DELETE runs/{twice}/standing-decisions/{standing}', NONE, 'run_unknown'],
  ['that is none', 'anna DELETE runs/{twice}/standing-decisions/std_x', NONE, 'standing_decision_unknown'],
  ['of another run', 'anna DELETE runs/{payer}/standing-decisions/{standing}', NONE, 'standing_decision_unknown'],
  ['with a NUL', 'anna DELETE runs/{twice}/standing-decisions/%00', NONE, 'invalid_request /path/decisionId'],
  ['of a run that is over', 'anna DELETE runs/{completed}/standing-decisions/{held}', NONE, 'run_over'],
  ['made by itself', 'anna POST runs/{twice}/standing-decisions', {}, 'method_not_allowed'],
];

const EVENTS: readonly Refused[] = [
  ['of a viewer', 'vera POST events/paid', {}, 'forbidden'],
  ['that is read', 'otto GET events/paid', NONE, 'method_not_allowed'],
  ['of a name that is none', 'otto POST events/_paid', {}, 'invalid_request /path/name'],
  ['of a name without end', `otto POST events/${'x'.repeat(201)}`, {}, 'invalid_request /path/name'],
  ['with an empty key', 'otto POST events/paid', { key: '' }, 'invalid_request /key'],
  ['with a key of two words', 'otto POST events/paid', { key: 'a b' }, 'invalid_request /key'],
  [
    'of wrong types',
    'otto POST events/paid',
    { key: 7, runId: [], eventId: {} },
    'invalid_request /key /runId /eventId',
  ],
  ['for a run with a NUL', 'otto POST events/paid', { runId: 'run_\u0000' }, 'invalid_request /runId'],
  ['for no run', 'otto POST events/paid', { runId: 'run_x' }, 'run_unknown /runId'],
  ['for a run of another tenant', 'zoe POST events/paid', { runId: '{waiter}' }, 'run_unknown /runId'],
  ['for a run that is over', 'otto POST events/paid', { runId: '{completed}' }, 'run_over /runId'],
  ['with fields that are not known', 'otto POST events/paid', { name: 'paid', id: 'x' }, 'invalid_request /name /id'],
  ['with too much to say', 'otto POST events/paid', { payload: 'x'.repeat(66_000) }, 'payload_too_large /payload'],
  ['in a body that is too large', 'otto POST events/paid', TOO_LARGE, 'body_too_large'],
  ['as a list', 'otto POST events/paid', [1], 'invalid_request ""'],
  ['as text', 'otto POST events/paid', {}, 'unsupported_media_type', TEXT],
  ['under two ids', 'otto POST events/paid', { eventId: 'a' }, 'invalid_request /eventId', key('b')],
  ['under an id that is none', 'otto POST events/paid', { eventId: 'a b' }, 'invalid_request /eventId'],
  ['under a key that is none', 'otto POST events/paid', {}, 'invalid_request /header/idempotency-key', key('a b')],
  ['under the key of another one', 'otto POST events/paid', { payload: 2 }, 'idempotency_key_reused', key('kept')],
  ['under the id of another name', 'otto POST events/sent', { payload: 1, eventId: 'kept' }, 'idempotency_key_reused'],
];

const begin = (sessionId: unknown) => ({ agent: 'payer', input: 'go', sessionId });
const SESSIONS: readonly Refused[] = [
  ['in pages of nothing', 'vera GET sessions?limit=0', NONE, 'invalid_request /query/limit'],
  ['by a cursor that no list gave', 'vera GET sessions?cursor=abc', NONE, 'invalid_request /query/cursor'],
  ['by a filter that is none', 'vera GET sessions?id=talk', NONE, 'invalid_request /query/id'],
  ['that is not there', 'vera GET sessions/nobody', NONE, 'session_unknown'],
  ['of another tenant', 'zoe GET sessions/talk', NONE, 'session_unknown'],
  ['of another tenant, its items', 'zoe GET sessions/talk/items', NONE, 'session_unknown'],
  ['after half an item', 'vera GET sessions/talk/items?cursor=1.5', NONE, 'invalid_request /query/cursor'],
  ['in pages that are too long', 'vera GET sessions/talk/items?limit=201', NONE, 'invalid_request /query/limit'],
  ['removed by an approver', 'anna DELETE sessions/talk', NONE, 'forbidden'],
  ['removed elsewhere', 'zoe DELETE sessions/talk', NONE, 'session_unknown'],
  ['removed while a run is in it', 'adam DELETE sessions/talk', NONE, 'session_busy'],
  ['removed by what is no id', 'adam DELETE sessions/a%20b', NONE, 'invalid_request /path/id'],
  ['written', 'adam PUT sessions/talk', {}, 'method_not_allowed'],
  ['entered while a run is in it', 'otto POST runs', begin('talk'), 'session_busy'],
  ['of an empty id', 'otto POST runs', begin(''), 'invalid_request /sessionId'],
  ['of an id that is a path', 'otto POST runs', begin('..'), 'invalid_request /sessionId'],
  ['of a number', 'otto POST runs', begin(7), 'invalid_request /sessionId'],
];

const LAST = 1000;
const edited = (...edits: unknown[]) => ({ at: '{completed.end}', edits });
const settled = (outcome: object) => edited({ callId: 'p1', outcome });
const said = (item: object) => ({ turn: 1, output: [item] });
const CALL = { type: 'function_call', name: 'pay', arguments: '{}', status: 'completed' };
const FORKS: readonly Refused[] = [
  ['of a viewer', 'vera POST runs/{completed}/fork', { at: 1 }, 'forbidden'],
  ['of no run', 'otto POST runs/run_x/fork', { at: 1 }, 'run_unknown'],
  ['of another tenant', 'zoe POST runs/{completed}/fork', { at: 1 }, 'run_unknown'],
  ['from nowhere', 'otto POST runs/{completed}/fork', {}, 'invalid_request /at'],
  ['from event 0', 'otto POST runs/{completed}/fork', { at: 0 }, 'invalid_request /at'],
  ['from half an event', 'otto POST runs/{completed}/fork', { at: 1.5 }, 'invalid_request /at'],
  ['from what is no event', 'otto POST runs/{completed}/fork', { at: 'the end' }, 'fork_invalid /at'],
  ['from beyond the log', 'otto POST runs/{completed}/fork', { at: LAST }, 'fork_invalid /at'],
  ['from an event of another run', 'otto POST runs/{completed}/fork', { at: '{payer}:1' }, 'fork_invalid /at'],
  ['from where a child works', 'otto POST runs/{parent}/fork', { at: '{parent.end}' }, 'fork_invalid /at'],
  [
    'of wrong types',
    'otto POST runs/{completed}/fork',
    { at: 1, input: 5, model: [] },
    'invalid_request /input /model',
  ],
  ['of a model with a NUL', 'otto POST runs/{completed}/fork', { at: 1, model: '\u0000' }, 'invalid_request /model'],
  ['with no turns left', 'otto POST runs/{completed}/fork', { at: 1, maxTurns: 0 }, 'invalid_request /maxTurns'],
  ['with edits that are no list', 'otto POST runs/{completed}/fork', { at: 1, edits: {} }, 'invalid_request /edits'],
  [
    'with an edit of turn 0',
    'otto POST runs/{completed}/fork',
    edited({ turn: 0, output: [{}] }),
    'invalid_request /edits/0/turn',
  ],
  [
    'with an edit of texts',
    'otto POST runs/{completed}/fork',
    edited({ turn: 1, output: ['x'] }),
    'invalid_request /edits/0/output/0',
  ],
  [
    'with an outcome of no kind',
    'otto POST runs/{completed}/fork',
    settled({ type: 'lost' }),
    'invalid_request /edits/0/outcome/type',
  ],
  [
    'with a turn that never was',
    'otto POST runs/{completed}/fork',
    edited({ turn: 99, output: [{}] }),
    'fork_invalid /edits/0',
  ],
  [
    'with a call that never was',
    'otto POST runs/{completed}/fork',
    edited({ callId: 'x', outcome: { type: 'output', output: 1 } }),
    'fork_invalid /edits/0',
  ],
  [
    'with two edits of one turn',
    'otto POST runs/{completed}/fork',
    edited(said({ type: 'x' }), said({ type: 'y' })),
    'fork_invalid /edits/1',
  ],
  [
    'with an outcome that the tool does not have',
    'otto POST runs/{completed}/fork',
    settled({ type: 'output', output: 1 }),
    'fork_invalid /edits/0/outcome/output',
  ],
  ['with a call without an id', 'otto POST runs/{completed}/fork', edited(said(CALL)), 'fork_invalid /edits/0/output'],
  [
    'with too much metadata',
    'otto POST runs/{completed}/fork',
    { at: 1, metadata: { x: 'x'.repeat(20_000) } },
    'payload_too_large /metadata',
  ],
  ['in a body that is too large', 'otto POST runs/{completed}/fork', { at: 1, ...TOO_LARGE }, 'body_too_large'],
  [
    'under a key that is none',
    'otto POST runs/{completed}/fork',
    { at: 1 },
    'invalid_request /header/idempotency-key',
    key('""'),
  ],
  [
    'under the key of another one',
    'otto POST runs/{completed}/fork',
    { at: 2 },
    'idempotency_key_reused',
    key('forked'),
  ],
];

const RETRIES: readonly Refused[] = [
  ['of a viewer', 'vera POST runs/{failed}/retry', {}, 'forbidden'],
  ['of no run', 'otto POST runs/run_x/retry', {}, 'run_unknown'],
  ['of another tenant', 'zoe POST runs/{failed}/retry', {}, 'run_unknown'],
  ['of a run that waits', 'otto POST runs/{payer}/retry', {}, 'run_not_failed'],
  ['of a run that completed', 'otto POST runs/{completed}/retry', {}, 'run_not_failed'],
  ['from an event', 'otto POST runs/{failed}/retry', { at: 1 }, 'invalid_request /at'],
  ['of wrong types', 'otto POST runs/{failed}/retry', { model: 5, metadata: [] }, 'invalid_request /model /metadata'],
  ['without any time', 'otto POST runs/{failed}/retry', { maxDurationMs: 0 }, 'invalid_request /maxDurationMs'],
  ['as text', 'otto POST runs/{failed}/retry', {}, 'unsupported_media_type', TEXT],
  [
    'under the key of another one',
    'otto POST runs/{failed}/retry',
    { maxTurns: 7 },
    'idempotency_key_reused',
    key('retried'),
  ],
];

const REPAIRS: readonly Refused[] = [
  ['of an approver', 'anna POST runs/{completed}/repair', {}, 'forbidden'],
  ['of no run', 'adam POST runs/run_x/repair', {}, 'run_unknown'],
  ['of a log that is whole', 'adam POST runs/{completed}/repair', { apply: true }, 'log_whole'],
  ['of wrong types', 'adam POST runs/{completed}/repair', { apply: 1, accept: 'a' }, 'invalid_request /apply /accept'],
  ['with a field that is not known', 'adam POST runs/{completed}/repair', { at: 1 }, 'invalid_request /at'],
];

const approve = (name: string): string => `anna POST interruptions/{${name}.wait}/approve`;
const answer = (name: string): string => `anna POST interruptions/{${name}.wait}/answer`;
const scope = (...capabilities: string[]) => ({ always: { scope: capabilities } });
const DECISIONS: readonly Refused[] = [
  ['of an operator', 'otto POST interruptions/{payer.wait}/approve', { always: true }, 'forbidden'],
  ['of another tenant', 'zoe POST interruptions/{payer.wait}/approve', { always: true }, 'interruption_unknown'],
  ['with arguments that are no object', approve('payer'), { arguments: [] }, 'invalid_request /arguments'],
  [
    'with arguments that do not fit',
    approve('payer'),
    { arguments: { to: 'alice', amount: -1 } },
    'invalid_request /arguments',
  ],
  [
    'with arguments that are not granted',
    approve('payer'),
    { arguments: { to: 'bob', amount: 1 } },
    'capability_denied /arguments',
  ],
  ['for always of no kind', approve('payer'), { always: false }, 'invalid_request /always'],
  ['for always without a scope', approve('payer'), { always: {} }, 'invalid_request /always/scope'],
  ['for an empty scope', approve('payer'), scope(), 'invalid_request /always/scope'],
  ['for a scope that is none', approve('payer'), scope('bank:pay:alice', 'all'), 'capability_invalid /always/scope/1'],
  ['for a scope with a NUL', approve('payer'), scope('bank:pay:\u0000'), 'capability_invalid /always/scope/0'],
  ['for another scope', approve('payer'), scope('bank:pay:carol'), 'invalid_request /always'],
  ['about something else', approve('payer'), { digest: 'sha256:0' }, 'digest_mismatch /digest'],
  ['about a number', approve('payer'), { digest: 5 }, 'invalid_request /digest'],
  ['in a body that is too large', approve('payer'), TOO_LARGE, 'body_too_large'],
  ['an approval, answered', answer('payer'), { value: 1 }, 'verdict_not_allowed'],
  ['a question, approved', approve('asker'), {}, 'verdict_not_allowed'],
  ['a timer, approved', approve('napper'), {}, 'verdict_not_allowed'],
  ['an event, answered', answer('waiter'), { value: { eventId: 'x', payload: 1 } }, 'verdict_not_allowed'],
  ['an event, rejected', 'anna POST interruptions/{waiter.wait}/reject', {}, 'verdict_not_allowed'],
  ['a child run, answered', answer('parent'), { value: { status: 'completed', output: 1 } }, 'verdict_not_allowed'],
  ['a call that may have happened, edited', approve('poster'), { arguments: { a: 1 } }, 'plain_approval_only'],
  ['a call that may have happened, for always', approve('poster'), { always: true }, 'plain_approval_only'],
  [
    'a call that may have happened, with another output',
    answer('poster'),
    { value: { number: 'x' } },
    'invalid_request /value',
  ],
  ['an answer of nothing', answer('asker'), {}, 'invalid_request /value'],
  ['an answer of another type', answer('asker'), { value: 'much' }, 'invalid_request /value'],
  ['an answer with a wrong field', answer('asker'), { value: { cents: '12' } }, 'invalid_request /value/cents'],
  ['an answer without its field', answer('asker'), { value: { note: 'x' } }, 'invalid_request /value/cents'],
  [
    'an answer with another field',
    answer('asker'),
    { value: { cents: 1, dollars: 2 } },
    'invalid_request /value/dollars',
  ],
  ['an answer that is no choice', answer('chooser'), { value: 'green' }, 'invalid_request /value'],
];

const LISTS: readonly Refused[] = [
  ['runs of a parent that is no id', 'vera GET runs?parent=a%20b', NONE, 'invalid_request /query/parent'],
  ['runs of an agent with a NUL', 'vera GET runs?agent=%00', NONE, 'invalid_request /query/agent'],
  ['an inbox of an agent with a NUL', 'vera GET interruptions?agent=a%00', NONE, 'invalid_request /query/agent'],
  ['an inbox of a tool with a NUL', 'vera GET interruptions?tool=%00', NONE, 'invalid_request /query/tool'],
  ['an inbox of another kind', 'vera GET interruptions?kind=fax', NONE, 'invalid_request /query/kind/0'],
  [
    'an inbox before no time',
    'vera GET interruptions?expiresBefore=soon',
    NONE,
    'invalid_request /query/expiresBefore',
  ],
  [
    'an inbox before a day',
    'vera GET interruptions?expiresBefore=2026-01-31',
    NONE,
    'invalid_request /query/expiresBefore',
  ],
];

const LIVE = { Accept: 'text/event-stream' };
const STREAMS: readonly Refused[] = [
  ['of no run', 'vera GET runs/run_x/events', NONE, 'run_unknown', LIVE],
  ['of another tenant', 'zoe GET runs/{twice}/events', NONE, 'run_unknown', LIVE],
  ['with deltas of a kind', 'vera GET runs/{twice}/events?deltas=text', NONE, 'invalid_request /query/deltas', LIVE],
  ['in pages of nothing', 'vera GET runs/{twice}/events?limit=0', NONE, 'invalid_request /query/limit', LIVE],
  ['after no event', 'vera GET runs/{twice}/events?lastEventId=-1', NONE, 'invalid_request /query/lastEventId', LIVE],
  ['without a token', '- GET runs/{twice}/events', NONE, 'unauthenticated', LIVE],
];

/** Requests that are refused, by what they are about. */
const WORKERS: readonly Refused[] = [
  ['that is not there', 'vera GET workers/nobody', NONE, 'worker_unknown'],
  ['in pages of nothing', 'vera GET workers?limit=0', NONE, 'invalid_request /query/limit'],
  ['by a filter that is none', 'vera GET workers?role=api', NONE, 'invalid_request /query/role'],
  ['stopped by an approver', 'anna POST workers/nobody/stop', {}, 'forbidden'],
  ['stopped that is not there', 'adam POST workers/nobody/stop', {}, 'worker_unknown'],
  ['stopped at once', 'adam POST workers/nobody/stop', { mode: 'now' }, 'invalid_request /mode'],
  ['stopped with more to say', 'adam POST workers/nobody/stop', { why: 'old' }, 'invalid_request /why'],
  ['removed', 'adam DELETE workers/nobody', NONE, 'method_not_allowed'],
];

export const REFUSED: readonly (readonly [string, readonly Refused[]])[] = [
  ['a standing decision', STANDING],
  ['an event', EVENTS],
  ['a session', SESSIONS],
  ['a fork', FORKS],
  ['a retry', RETRIES],
  ['a repair', REPAIRS],
  ['a decision', DECISIONS],
  ['a list', LISTS],
  ['a stream', STREAMS],
  ['a worker', WORKERS],
  ['an erasure', ERASURES],
];
