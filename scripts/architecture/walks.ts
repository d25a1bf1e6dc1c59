import { dirname } from 'node:path';
import { IMPORTS, SOURCES, textOf } from './sources.js';

/**
 * The ways that a reader follows: which function hands on to which. A function is named by its room, or its folder where the room has several of its name, so
 * that files may move and merge; each hop is checked against the code. What a hop goes through where it is no call: `via` is a member that both sides
 * name (an interface stands between them), `library` is what a library calls us back by.
 */
interface Hop {
  readonly to: string;
  /** Null or left out: the function before. */
  readonly from?: string;
  readonly via?: string;
  readonly library?: string;
}

export interface Walk {
  readonly name: string;
  readonly most: number;
  readonly hops: readonly Hop[];
}

/** From a queued segment to its function. */
const DEQUEUED: readonly Hop[] = [
  { to: 'engine:DispatchWaker', from: 'engine:segmentQueue', via: 'wake' },
  { to: 'engine:hookDequeue', library: 'findAndMarkStartableWorkflows' },
  { to: 'engine:Dispatch', via: 'take' },
  { to: 'storage:dequeue' },
  { to: 'storage:dequeueStatement' },
  { to: 'engine:registerSegments', library: 'registerWorkflow' },
  { to: 'workflows:runSegment' },
  { to: 'workflows:execute' },
];

export const WALKS: readonly Walk[] = [
  {
    name: 'POST /runs to the first model call',
    most: 25,
    hops: [
      { to: 'http:createApp' },
      { to: 'http:serve' },
      { to: 'http:perform' },
      { to: 'http:routeOf', via: 'call' },
      { to: 'core/operations:RUN_OPERATIONS', via: 'args' },
      { to: 'engine:OPERATIONS', via: 'startRun' },
      { to: 'engine:startRun' },
      { to: 'engine:startRunOf' },
      { to: 'engine:writeRun' },
      { to: 'storage:insertRun' },
      { to: 'storage:createLog', from: 'engine:writeRun' },
      { to: 'engine:segmentQueue', from: 'engine:writeRun', via: 'enqueue' },
      ...DEQUEUED,
      { to: 'workflows:begin' },
      { to: 'steps:beginSegment' },
      { to: 'workflows:openSegment', from: 'workflows:execute' },
      { to: 'workflows:newSegmentContext' },
      { to: 'workflows:runAgent', from: 'workflows:execute' },
      { to: 'workflows:letAgentWork' },
      { to: 'workflows:patchAgent', library: 'getAllTools' },
      { to: 'workflows:wrapTool' },
      { to: 'workflows:DurableModel', library: 'getResponse' },
      { to: 'workflows:takeTurn' },
      { to: 'workflows:askOrReplay' },
      { to: 'workflows:askModel' },
      { to: 'workflows:durableStep' },
      { to: 'steps:callModel', from: 'workflows:askModel' },
      { to: 'models:attemptOf', from: 'workflows:askModel' },
      { to: 'models:SingleAttempt' },
    ],
  },
  {
    name: 'A call, its approval, and its execution',
    most: 30,
    hops: [
      { to: 'workflows:takeTurn' },
      { to: 'workflows:authorizeCalls' },
      { to: 'workflows:authorizeOne' },
      { to: 'workflows:needsApproval' },
      { to: 'workflows:authorizeCall', from: 'workflows:authorizeOne' },
      { to: 'core:checksOf' },
      { to: 'core:checkCapability' },
      { to: 'workflows:wrapTool', library: 'needsApproval' },
      { to: 'workflows:letAgentWork', library: 'runner.run' },
      { to: 'workflows:waitForApprovals' },
      { to: 'workflows:end', library: 'recordEnd' },
      { to: 'steps:endSegment' },
      { to: 'steps:OUTCOMES' },
      { to: 'steps/segment:ask' },
      { to: 'storage:insertInterruption' },
      { to: 'http:routeOf', library: 'operation' },
      { to: 'core/operations:INTERRUPTION_OPERATIONS', via: 'args' },
      { to: 'core/operations:DECISION' },
      { to: 'engine:OPERATIONS', via: 'decide' },
      { to: 'engine:decide' },
      { to: 'engine:judgeRequest' },
      { to: 'core:judgeDecision' },
      { to: 'steps:settleAndResume', from: 'engine:decide' },
      { to: 'steps:SettlementBatch' },
      { to: 'steps/interruptions:settle' },
      { to: 'steps:settleEach' },
      { to: 'steps/interruptions:keep' },
      { to: 'storage:insertDecisions' },
      { to: 'steps:makeQueued', from: 'steps:SettlementBatch' },
      { to: 'storage:queueDecided' },
      { to: 'engine:segmentQueue', from: 'steps:SettlementBatch', via: 'takeHere' },
      ...DEQUEUED,
      { to: 'workflows:begin' },
      { to: 'steps:beginSegment' },
      { to: 'workflows:runAgent', from: 'workflows:execute' },
      { to: 'workflows:letAgentWork' },
      { to: 'workflows:stateOf' },
      { to: 'workflows:storedState' },
      { to: 'workflows:resumeState', from: 'workflows:stateOf' },
      { to: 'workflows:applyApprovals' },
      { to: 'workflows:wrapTool', library: 'invoke:' },
      { to: 'workflows:awaitResult' },
      { to: 'workflows:startCalls' },
      { to: 'workflows:runTool' },
      { to: 'workflows:bodyOf' },
      { to: 'workflows:durableStep', from: 'workflows:runTool' },
      { to: 'steps:callTool', from: 'workflows:runTool' },
    ],
  },
  {
    name: 'A worker dies, another takes over',
    most: 10,
    hops: [
      { to: 'engine:startMaintenanceLoop' },
      { to: 'engine:detectDeadWorkers' },
      { to: 'storage:holdersOfSegments' },
      { to: 'engine/workers:takeOver', from: 'engine:detectDeadWorkers' },
      { to: 'storage:takeSegments' },
      { to: 'storage:markDead', from: 'engine/workers:takeOver' },
      { to: 'engine:settleLeft', from: 'engine/workers:takeOver' },
      { to: 'engine:segmentQueue', via: 'wake' },
      ...DEQUEUED,
    ],
  },
];

const declaration = (name: string): RegExp =>
  new RegExp(`^(?:export )?(?:async )?(?:function\\*?|const|class) ${name}\\b`, 'm');

const folderOf = (path: string): string => dirname(path).replace(/^src\//, '');

/**
 * The file that declares a function. Where several files of a room do, the one whose folder is the one that is named. Throws
 * where that leaves none or several.
 */
function fileOf(place: string): string {
  const known = files.get(place) ?? findFile(place);
  files.set(place, known);
  return known;
}

const files = new Map<string, string>();

function findFile(place: string): string {
  const [folder = '', name = ''] = place.split(':');
  const within = SOURCES.filter(
    (path) => `${folderOf(path)}/`.startsWith(`${folder}/`) && declaration(name).test(textOf(path)),
  );
  const exact = within.filter((path) => folderOf(path) === folder);
  const found = exact.length === 1 ? exact : within;
  const [file] = found;
  if (file !== undefined && found.length === 1) return file;
  const where = found.length === 0 ? 'no file' : found.join(' and ');
  throw new Error(`${place} is declared in ${where}: correct scripts/architecture/walks.ts.`);
}

/** The text of a declaration: up to the next one at the margin. */
function bodyOf(place: string): string {
  const text = textOf(fileOf(place));
  const [, name = ''] = place.split(':');
  const start = text.search(declaration(name));
  const rest = text.slice(start + 1);
  const end = rest.search(/^(?:export|async|function|const|class|interface|type|\/\*\*)/m);
  return end < 0 ? rest : rest.slice(0, end);
}

const names = (text: string, name: string): boolean => new RegExp(`(?<!\\w|(?<!\\.\\.)\\.)${name}\\b`).test(text);

/** What is wrong with a hop; null: the code has it. */
function problemOf(hop: Hop, from: string): string | null {
  const { to, via, library } = hop;
  const [, name = ''] = to.split(':');
  if (library !== undefined) return bodyOf(to).includes(library) ? null : `${to} does not name ${library}`;
  if (via !== undefined)
    return [from, to].every((place) => bodyOf(place).includes(via)) ? null : `${from} or ${to} does not name ${via}`;
  if (!names(bodyOf(from), name)) return `${from} does not name ${name}`;
  const [here, there] = [fileOf(from), fileOf(to)];
  const isImported = IMPORTS.some((one) => one.from === here && one.target === there && one.names.includes(name));
  return here === there || isImported ? null : `${here} does not import ${name} from ${there}`;
}

/** Functions that only list what there is: who follows a walk opens one entry of them. */
const TABLES: ReadonlySet<string> = new Set([
  'http:createApp',
  'core/operations:RUN_OPERATIONS',
  'core/operations:INTERRUPTION_OPERATIONS',
  'engine:OPERATIONS',
  'engine:startMaintenanceLoop',
]);

export interface Walked {
  /** Files that declare the functions of the walk. */
  readonly files: readonly string[];
  /** Those, and every file of ours that these functions name a value of. */
  readonly beside: readonly string[];
  readonly problems: readonly string[];
}

export function walked({ hops }: Walk): Walked {
  const places = [...new Set(hops.map(({ to }) => to))];
  const declared = [...new Set(places.map(fileOf))];
  const named = places
    .filter((place) => !TABLES.has(place))
    .flatMap((place) => {
      const [file, body] = [fileOf(place), bodyOf(place)];
      return IMPORTS.flatMap((one) =>
        one.from === file && one.target !== null && !one.typeOnly && one.names.some((name) => names(body, name))
          ? [one.target]
          : [],
      );
    });
  const problems = hops.flatMap((hop, at) => {
    const before = hop.from ?? hops[at - 1]?.to;
    return before === undefined ? [] : (problemOf(hop, before) ?? []);
  });
  return { files: declared, beside: [...new Set([...declared, ...named])], problems };
}
