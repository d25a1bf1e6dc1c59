import { toolNamed } from '../agents/agent-prompt.js';
import { digestOf, type JsonObject, toJson } from '../json.js';
import { type ChatMessage, type ChatOptions, type ChatTool, chatOf, chatTools } from './chat-row.js';
import { isAssistant } from './conversation.js';
import type { ExportOptions, SkipReason } from './export.js';
import { type ExportedRun, type ExportRow, said } from './export-row.js';
import { threadsOf } from './thread.js';

/** Pairs of runs that tried the same, one of them with a clearly better reward: what is preferred, and to what. */

/** A run as an answer to what it was asked, and what it was found to be worth. */
export interface Attempt {
  readonly prompt: readonly ChatMessage[];
  readonly answer: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
  readonly run: { readonly id: string; readonly agent: string; readonly model: string; readonly headHash: string };
  /** What runs that try the same have in common, as it is shown. */
  readonly task: string;
  readonly worth: AttemptWorth;
}

/** By what attempts are paired. */
export interface AttemptWorth {
  readonly reward: number;
  readonly verificationPassed: boolean | null;
  /** Digest of prompt and tools: only attempts that were asked the same can be compared. */
  readonly asked: string;
  /** Digest of what is said, whatever the ids of calls. */
  readonly said: string;
}

/** A run as an attempt, or why it is none. */
export function attemptOf({ family, task, worth }: ExportedRun, options: ChatOptions): Attempt | SkipReason {
  const { conversation, prompts } = family;
  const { run, head } = conversation;
  const own = conversation.loops.filter(({ within }) => within === null);
  const [thread, ...others] = threadsOf({ ...conversation, loops: own }, prompts);
  if (thread === undefined) return 'nothing_said';
  // Two agents have two system prompts, and one reward.
  if (others.length > 0) return 'handed_over';
  if (worth.totalReward === null) return 'unrated';
  const { agent, models } = thread;
  const offered = own[0]?.offered.get(agent) ?? [];
  const tools = chatTools(offered.map((name) => toolNamed(prompts.get(agent), name)));
  const asked = thread.messages.findIndex((message) => isAssistant(message) && !message.copied);
  const { messages, context } = chatOf({ ...thread, context: asked }, options);
  const prompt = messages.slice(0, context);
  const last = prompt.at(-1)?.role;
  if (last !== 'user' && last !== 'tool') return 'unpaired';
  return {
    ...{ prompt, answer: messages.slice(context), tools, task },
    run: { id: run.id, agent, model: models[0] ?? '', headHash: head.hash },
    worth: {
      reward: worth.totalReward,
      verificationPassed: worth.verificationPassed,
      asked: digestOf(toJson([prompt, tools])),
      said: digestOf(said(thread)),
    },
  };
}

/** A pair of attempts, by their places in the list that they were chosen from. */
export interface Pair {
  readonly chosen: number;
  readonly rejected: number;
  readonly margin: number;
}

/** Without what floating point adds to a difference. */
const marginOf = (better: AttemptWorth, worse: AttemptWorth): number =>
  Math.round((better.reward - worse.reward) * 1e9) / 1e9;

/**
 * The pairs of one task, those with the largest margin first. Among attempts that were asked the same, the best is paired with
 * the worst, the second best with the second worst, and so on: each is in one pair at most. Of equals the first counts as the
 * better one. `duplicates`: how many say what one before them said.
 */
export function choosePairs(
  attempts: readonly AttemptWorth[],
  { minMargin, pairsPerTask, deduplicate }: Pick<ExportOptions, 'minMargin' | 'pairsPerTask' | 'deduplicate'>,
): { readonly pairs: readonly Pair[]; readonly duplicates: number } {
  const groups = new Map<string, { said: Set<string>; places: number[] }>();
  let duplicates = 0;
  for (const [place, { asked, said: words }] of attempts.entries()) {
    const group = groups.get(asked) ?? { said: new Set(), places: [] };
    groups.set(asked, group);
    if (deduplicate && group.said.has(words)) duplicates += 1;
    else group.places.push(place);
    group.said.add(words);
  }
  const pairs = [...groups.values()].flatMap(({ places }) => pairsAmong(places, attempts, minMargin));
  pairs.sort((a, b) => b.margin - a.margin || a.chosen - b.chosen);
  return { pairs: pairs.slice(0, pairsPerTask), duplicates };
}

function pairsAmong(places: readonly number[], attempts: readonly AttemptWorth[], minMargin: number): Pair[] {
  const ranked = places
    .flatMap((place) => {
      const worth = attempts[place];
      return worth === undefined ? [] : [{ place, worth }];
    })
    .sort((a, b) => b.worth.reward - a.worth.reward || a.place - b.place);
  const half = Math.floor(ranked.length / 2);
  return ranked.slice(0, half).flatMap((better, rank): Pair[] => {
    const worse = ranked.at(-1 - rank);
    if (worse === undefined || better.worth.said === worse.worth.said) return [];
    const margin = marginOf(better.worth, worse.worth);
    if (margin < minMargin || contradicts(better.worth, worse.worth)) return [];
    return [{ chosen: better.place, rejected: worse.place, margin }];
  });
}

/** A verifier said the opposite of the rewards. */
const contradicts = (better: AttemptWorth, worse: AttemptWorth): boolean =>
  better.verificationPassed === false && worse.verificationPassed === true;

/** A pair as a row. Prompt and tools are the same on both sides. */
export function pairRow(chosen: Attempt, rejected: Attempt, margin: number): ExportRow {
  const { prompt, tools, task } = chosen;
  const content: JsonObject = {
    prompt: toJson(prompt),
    chosen: toJson(chosen.answer),
    rejected: toJson(rejected.answer),
    tools: toJson(tools),
  };
  const id = `${chosen.run.id}:${rejected.run.id}`;
  return {
    columns: {
      ...content,
      id,
      task,
      agent: chosen.run.agent,
      margin,
      ...side('chosen', chosen),
      ...side('rejected', rejected),
    },
    digest: digestOf([chosen.worth.asked, chosen.worth.said, rejected.worth.said]),
  };
}

const side = (name: string, { run, worth }: Attempt): JsonObject => ({
  [`${name}_run_id`]: run.id,
  [`${name}_model`]: run.model,
  [`${name}_reward`]: worth.reward,
  [`${name}_head_hash`]: run.headHash,
});
