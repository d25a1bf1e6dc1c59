import { differenceOf } from '../../../core/difference.js';
import { type ErrorCode, HoldfastError } from '../../../core/errors/errors.js';
import type { DecisionRequest, InterruptionView } from '../../../core/interruptions/interruption.js';
import { isRecord, type JsonObject, type JsonValue, jsonObject, jsonValue, parseJson } from '../../../core/json.js';
import { Allowance } from '../../../core/limits/allowance.js';
import type { Client } from '../../client.js';
import { type Dialog, edited } from '../../dialog.js';
import { itemsOf } from '../../pages.js';
import { cut, jsonText, plain, print, printError, width } from '../../print.js';
import { oneLine, printInterruption } from '../../run-text.js';
import type { ServerReturn } from '../../server-return.js';
import { Story } from '../../story.js';

/** What of the inbox is asked for. */
export type InboxFilter = NonNullable<Parameters<Client['listInterruptions']>[0]>;

interface Source {
  readonly client: Client;
  readonly server: ServerReturn;
}

/**
 * What a person can decide, oldest first and each once; what comes while they decide follows. Each is read again when its turn
 * comes: another person may have decided it, and a list cuts what is large.
 */
async function* pendingItems({ client, server }: Source, filter: InboxFilter): AsyncGenerator<InterruptionView, void> {
  const listed = (cursor: string | undefined) =>
    server.ask(() => client.listInterruptions({ ...filter, status: 'pending', cursor }));
  const seen = new Set<string>();
  for (let before = -1; before < seen.size; ) {
    before = seen.size;
    for await (const { id } of itemsOf(listed)) {
      if (seen.has(id)) continue;
      seen.add(id);
      const now = await server.ask(() => client.getInterruption(id));
      if (now.status === 'pending' && now.verdicts.length > 0) yield now;
    }
  }
}

interface Desk {
  readonly client: Client;
  readonly server: ServerReturn;
  readonly dialog: Dialog;
}

/** Thrown where a person wrote nothing, or nothing that can be used: they are asked again. */
class NotYet extends Error {}

const WORDS: { readonly [word: string]: string } = {
  approve: 'approve [message]',
  answer: 'answer [text]',
  edit: 'edit (the arguments, in your editor)',
  always: 'always (approve later calls of it, too)',
  reject: 'reject [message]',
  story: 'story (of the run until now)',
  next: 'next',
  quit: 'quit',
};

/** Goes through what waits for a decision, one by one, until nothing is left or the person has enough. */
export async function decideInbox(desk: Desk, filter: InboxFilter): Promise<void> {
  let [shown, decided] = [0, 0];
  for await (const item of pendingItems(desk, filter)) {
    shown++;
    const end = await decideOne(desk, item);
    if (end === 'quit') break;
    if (end === 'decided') decided++;
  }
  print(shown === 0 ? 'Nothing waits for a decision.' : `${decided} decided.`);
}

/** Another person was faster, or it expired. */
const DECIDED: ReadonlySet<ErrorCode> = new Set([
  ...(['decision_conflict', 'interruption_expired', 'interruption_cancelled', 'interruption_unknown'] as const),
]);

type End = 'decided' | 'next' | 'quit';

async function decideOne(desk: Desk, one: InterruptionView): Promise<End> {
  read(one);
  const words = wordsFor(one);
  const choices = words.map((word) => WORDS[word]).join(', ');
  for (;;) {
    const line = await desk.dialog.ask(`${choices} > `);
    if (line === null) return 'quit';
    const [, written = '', rest = ''] = /^\s*(\S*)\s*(.*)$/s.exec(line) ?? [];
    const word = written === '' ? undefined : words.find((known) => known.startsWith(written.toLowerCase()));
    if (word === undefined) {
      print('Write one of the words, or its first letters.');
      continue;
    }
    if (word === 'next' || word === 'quit') return word;
    try {
      if (word === 'story') await tell(desk, one.runId);
      else return await settle(desk, one, await decisionOf(desk, one, word, rest.trim()));
    } catch (error) {
      if (error instanceof NotYet) print(error.message);
      else if (error instanceof HoldfastError && DECIDED.has(error.code)) return taken(error);
      else if (error instanceof HoldfastError) printError(error);
      else throw error;
    }
  }
}

function taken(error: HoldfastError): 'next' {
  printError(error);
  return 'next';
}

/** Shows it whole, also where a list cuts it. */
function read(one: InterruptionView): void {
  print('');
  printInterruption(one);
  const whole = jsonText(one.arguments, 2);
  if (isRecord(one.arguments) && oneLine(one.arguments).length > width() / 2)
    for (const line of whole.split('\n')) print(`    ${line}`);
  if (one.wait?.kind === 'question' && one.wait.choices !== null)
    for (const [index, choice] of one.wait.choices.entries()) print(`    ${index + 1}  ${plain(choice)}`);
}

function wordsFor({ verdicts, kind, reason, arguments: given }: InterruptionView): readonly string[] {
  const approves = verdicts.includes('approve');
  const isCall = kind === 'approval' && reason.code !== 'unknown_effect';
  return [
    ...(approves ? ['approve'] : []),
    ...(verdicts.includes('answer') ? ['answer'] : []),
    ...(approves && isCall && isRecord(given) ? ['edit'] : []),
    ...(approves && isCall ? ['always'] : []),
    ...(verdicts.includes('reject') ? ['reject'] : []),
    ...['story', 'next', 'quit'],
  ];
}

async function decisionOf(desk: Desk, one: InterruptionView, word: string, rest: string): Promise<DecisionRequest> {
  // Counts only if nothing of what was read has changed.
  const { digest } = one;
  const said = rest === '' ? {} : { message: rest };
  if (word === 'reject') {
    const message = rest === '' ? await written(desk, 'Why? The model reads it: ') : rest;
    return { verdict: 'reject', message, digest };
  }
  if (word === 'answer') return { verdict: 'answer', value: await answerTo(desk, one, rest), digest };
  if (word === 'edit') return { verdict: 'approve', arguments: await newArguments(desk, one), digest, ...said };
  if (one.wait?.kind === 'budget') {
    const usd = (await written(desk, 'New limit in dollars: ')).replace(/^\$/, '');
    return { verdict: 'approve', budget: { usd }, digest, ...said };
  }
  return { verdict: 'approve', digest, ...said, ...(word === 'always' ? { always: true as const } : {}) };
}

async function written({ dialog }: Desk, question: string): Promise<string> {
  const line = (await dialog.ask(question))?.trim() ?? '';
  if (line === '') throw new NotYet('Nothing was written, and nothing is decided.');
  return line;
}

/** A question takes a text, or one of its choices by number; what has a schema, and what a call gave, is JSON. */
async function answerTo(desk: Desk, { wait }: InterruptionView, rest: string): Promise<JsonValue> {
  const question = wait?.kind === 'question' ? wait : null;
  if (question !== null && question.schema === null) {
    const text = rest === '' ? await written(desk, 'Your answer: ') : rest;
    return question.choices?.[Number(text) - 1] ?? text;
  }
  return rest === '' ? parsed(edited('{}\n', 'answer.json')) : parsed(rest);
}

function parsed(text: string): JsonValue {
  try {
    return jsonValue.parse(parseJson(text));
  } catch (error) {
    throw new NotYet(`That is no JSON: ${plain(error instanceof Error ? error.message : String(error))}`);
  }
}

/** What the person made of the arguments, after a look at what changed. */
async function newArguments({ dialog }: Desk, one: InterruptionView): Promise<JsonObject> {
  const read = jsonObject.safeParse(parsed(edited(`${jsonText(one.arguments, 2)}\n`, 'arguments.json')));
  if (!read.success) throw new NotYet('Arguments are a JSON object. Nothing is decided.');
  const changes = differenceOf(one.arguments, read.data, new Allowance());
  if (changes.length === 0) throw new NotYet('Nothing was changed, and nothing is decided.');
  for (const change of changes)
    print(cut(`    ${change.op} ${plain(change.path)} ${'value' in change ? oneLine(change.value) : ''}`, width()));
  const sure = await dialog.ask('Approve with these arguments? [y/N] ');
  if (!/^\s*y(es)?\s*$/i.test(sure ?? '')) throw new NotYet('Nothing is decided.');
  return read.data;
}

async function settle({ client, server }: Desk, { id }: InterruptionView, decision: DecisionRequest): Promise<End> {
  const now = await server.ask(() => client.decide(id, decision));
  const left = now.requiredApprovals - now.decisions.filter(({ verdict }) => verdict === 'approve').length;
  print(now.status === 'pending' ? `Noted; ${left} more must approve.` : `${id} is ${now.status}.`);
  return 'decided';
}

async function tell({ client, server }: Desk, run: string): Promise<void> {
  const story = new Story();
  for await (const event of itemsOf((cursor) => server.ask(() => client.listEvents(run, { cursor }))))
    for (const line of story.tell(event)) print(cut(`  ${line}`, width()));
}
