import { asJson, digestOf, type JsonObject, type JsonValue } from '../json.js';
import type { Trajectory } from '../trajectories/trajectory.js';
import { type AtifNotes, atifOf, type Family } from './atif.js';
import { chatOf, chatTools, imagesOf, shareGptOf } from './chat-row.js';
import { type ConversationMessage, isAssistant, isToolMessage, modelsOf } from './conversation.js';
import type { ExportFilters, ExportFormat, ExportMedia, ExportOptions } from './export.js';
import { inspectSample } from './inspect-sample.js';
import { miniTrajectory } from './mini-swe-agent.js';
import { openaiRow } from './openai-row.js';
import { openhandsEvents } from './openhands-events.js';
import { type Thread, threadsOf } from './thread.js';

/** One row of an export: its columns, and a digest of what is said in it, which finds rows that say the same. */
export interface ExportRow {
  readonly columns: JsonObject;
  readonly digest: string;
}

/** What the columns of a format are made of. */
export type ColumnKind = 'text' | 'json' | 'whole' | 'real' | 'messages' | 'parts' | 'images' | 'turns';

const OF_RUN = {
  id: 'text',
  run_id: 'text',
  task: 'text',
  agent: 'text',
  agent_version: 'text',
  model: 'text',
  status: 'text',
  result: 'text',
  reward: 'real',
  completed_at: 'text',
  head_hash: 'text',
} as const;

const OF_THREAD = { ...OF_RUN, context_messages: 'whole' } as const;

const OF_SIDE = {
  chosen_run_id: 'text',
  chosen_model: 'text',
  chosen_reward: 'real',
  chosen_head_hash: 'text',
  rejected_run_id: 'text',
  rejected_model: 'text',
  rejected_reward: 'real',
  rejected_head_hash: 'text',
} as const;

/** The columns of each format, in their order. */
const EXPORT_COLUMNS: { readonly [F in ExportFormat]: { readonly [column: string]: ColumnKind } } = {
  messages: { messages: 'messages', tools: 'json', ...OF_THREAD },
  'prime-rl': { messages: 'messages', tools: 'text', ...OF_THREAD },
  sharegpt: { conversations: 'turns', tools: 'text', ...OF_THREAD },
  preference: {
    ...{ prompt: 'messages', chosen: 'messages', rejected: 'messages', tools: 'json' },
    ...{ id: 'text', task: 'text', agent: 'text', margin: 'real', ...OF_SIDE },
  },
  // The service refuses a line with anything else in it.
  openai: { messages: 'json', tools: 'json', parallel_tool_calls: 'json' },
  // One document with all samples of a file, and no rows.
  inspect: {},
  atif: { trajectory: 'json', ...OF_RUN },
  jsonl: { trajectory: 'json', ...OF_RUN },
  'mini-swe-agent': { trajectory: 'json', ...OF_THREAD },
  openhands: { events: 'json', ...OF_THREAD },
};

const WITH_IMAGES = { messages: 'parts', images: 'images', tools: 'json', ...OF_THREAD } as const;

/** The columns of what is asked for. */
export const exportColumns = (
  format: ExportFormat,
  { media }: Pick<ExportOptions, 'media'>,
): { readonly [column: string]: ColumnKind } =>
  format === 'messages' && media === 'inline' ? WITH_IMAGES : EXPORT_COLUMNS[format];

/** Formats whose rows are each made of one run. */
export type RowFormat = Exclude<ExportFormat, 'preference'>;

/** A run as it is exported. */
export interface ExportedRun {
  readonly family: Family;
  /** What runs that try the same have in common. */
  readonly task: string;
  /** What became of it, and what it was found to be worth. */
  readonly worth: Pick<Trajectory, 'result' | 'totalReward' | 'verificationPassed' | 'tags' | 'scaffold'>;
  /** Its scores; null: none is known. */
  readonly scores: { readonly quality: number | null; readonly diversity: number | null };
  /** Its record; null: the format is not `jsonl`. */
  readonly trajectory: JsonValue;
}

/** The rows of a run. None: no one said anything in it. */
export function exportRows(run: ExportedRun, format: RowFormat, options: ExportOptions): ExportRow[] {
  const { family } = run;
  const threads = threadsOf(family.conversation, family.prompts);
  if (threads.length === 0) return [];
  if (format === 'atif' || format === 'jsonl') {
    const trajectory = format === 'atif' ? asJson(atifOf(family, notesOf(run))) : run.trajectory;
    const [first] = threads;
    if (trajectory === null || first === undefined) return [];
    const columns = { trajectory, ...columnsOf(run, first, family.conversation.run.id) };
    return [{ columns, digest: digestOf(threads.map(said)) }];
  }
  if (format === 'openai' || format === 'inspect')
    return threads.flatMap((thread) => {
      const columns = format === 'openai' ? openaiRow(thread, options.media) : sampleOf(run, thread, options.media);
      return columns === null ? [] : [{ columns, digest: digestOf(said(thread)) }];
    });
  if (format === 'mini-swe-agent' || format === 'openhands')
    return threads.map((thread) => {
      const { conversation } = family;
      const content: JsonObject =
        format === 'openhands'
          ? { events: asJson(openhandsEvents(thread, conversation.run.id)) }
          : { trajectory: miniTrajectory(thread, conversation) };
      const columns = { ...content, ...columnsOf(run, thread, thread.id), context_messages: thread.context };
      return { columns, digest: digestOf(said(thread)) };
    });
  return threads.map((thread) => {
    const { messages, context } = chatOf(thread, options);
    const tools = asJson(chatTools(thread.tools));
    const content: JsonObject =
      options.media === 'inline'
        ? { ...imagesOf(thread, options), tools }
        : format === 'sharegpt'
          ? { conversations: asJson(shareGptOf(messages)), tools: JSON.stringify(tools) }
          : { messages: asJson(messages), tools: format === 'messages' ? tools : JSON.stringify(tools) };
    return {
      columns: { ...content, ...columnsOf(run, thread, thread.id), context_messages: context },
      digest: digestOf(said(thread)),
    };
  });
}

function sampleOf(run: ExportedRun, thread: Thread, media: ExportMedia): JsonObject {
  const { run: of, head } = run.family.conversation;
  const { worth, task } = run;
  const metadata = {
    ...{ run_id: of.id, task, agent: thread.agent, agent_version: of.agentVersion, status: of.status },
    ...{ result: worth.result?.type ?? '', tags: [...worth.tags], head_hash: head.hash },
  };
  return inspectSample(thread, media, { run: of, reward: worth.totalReward, metadata });
}

const isWithin = (value: number | null, least: number | undefined, most: number | undefined): boolean =>
  (least === undefined || (value !== null && value >= least)) &&
  (most === undefined || (value !== null && value <= most));

/** Whether the filters let a run through that only its log and those who judged it can tell. */
export function isWanted({ family, worth, scores }: ExportedRun, filters: ExportFilters): boolean {
  const { model, result, minReward, maxReward, tag } = filters;
  const reward = worth.totalReward;
  return (
    (model === undefined || modelsOf(family.conversation).includes(model)) &&
    (result === undefined || (worth.result !== null && result.includes(worth.result.type))) &&
    isWithin(reward, minReward, maxReward) &&
    isWithin(scores.quality, filters.minQuality, filters.maxQuality) &&
    isWithin(scores.diversity, filters.minDiversity, filters.maxDiversity) &&
    (tag === undefined || worth.tags.includes(tag))
  );
}

const notesOf = ({ task, worth }: ExportedRun): AtifNotes => ({
  root: { task_id: task, scaffold: worth.scaffold, result: asJson(worth.result), tags: [...worth.tags] },
  final: { reward: worth.totalReward, verification_passed: worth.verificationPassed },
});

function columnsOf({ family, task, worth }: ExportedRun, { agent, models }: Thread, id: string) {
  const { run, head } = family.conversation;
  return {
    ...{ id, run_id: run.id, task, agent, agent_version: run.agentVersion, model: models[0] ?? '' },
    ...{
      status: run.status,
      result: worth.result?.type ?? '',
      reward: worth.totalReward,
      completed_at: run.completedAt ?? '',
      head_hash: head.hash,
    },
  } satisfies { [column in keyof typeof OF_RUN]: JsonValue };
}

/** What a thread says, without the ids of its calls and where it comes from. */
export const said = ({ system, tools, messages }: Thread): JsonValue => [
  system,
  tools.map(({ name }) => name),
  messages.map(saidIn),
];

function saidIn(message: ConversationMessage): JsonValue {
  if (isToolMessage(message)) return ['tool', message.tool, message.text];
  if (!isAssistant(message)) return [message.role, message.text];
  const calls = message.calls.map(({ tool, arguments: args }): JsonValue => [tool, args]);
  return ['assistant', message.text, message.reasoning, calls];
}
