import { isObject, type JsonValue } from '../../src/core/json.js';
import type { RunEvent } from '../../src/core/log/event.js';
import { COMMANDS_MOST, commandsIn } from '../../src/core/shell-commands.js';
import {
  isLike,
  judgeProcess,
  type Process,
  type ProcessRules,
  type RuleEnd,
} from '../../src/core/tasks/process-rules.js';
import { breathe } from '../../src/storage/database/timing.js';
import type { StepContext } from '../context.js';
import { eventsOfRun } from './said-by-run.js';

/** Of a command so much is read. */
const COMMAND_LONGEST = 65_536;

/**
 * Judges how the agent of a run worked, by its log: commands that began to run, answers of models, and time without pauses. Runs that
 * it started are not read.
 */
export async function lookAtProcess(
  ctx: Pick<StepContext, 'knex'>,
  runId: string,
  rules: ProcessRules,
): Promise<readonly RuleEnd[]> {
  const look = new ProcessLook([...rules.requiredCommands, ...rules.forbiddenCommands]);
  for await (const event of eventsOfRun(ctx, runId)) if (look.take(event)) await breathe();
  return judgeProcess(rules, look.found());
}

/** What a log says of how an agent worked, event after event. */
class ProcessLook {
  readonly #wanted: readonly string[];
  readonly #matched = new Map<string, string>();
  /** Commands of calls that were checked and have not begun, by call id. */
  readonly #asked = new Map<string, string>();
  #steps = 0;
  #unread = false;
  #workedMs = 0;
  #since: number | null = null;

  constructor(wanted: readonly string[]) {
    this.#wanted = wanted;
  }

  found(): Process {
    return {
      steps: this.#steps,
      seconds: Math.round(this.#workedMs / 1000),
      matched: this.#matched,
      unread: this.#unread,
    };
  }

  /** Takes the next event. True: commands were compared, which may take a while. */
  take({ kind, data, at }: RunEvent): boolean {
    this.#passTo(Date.parse(at), kind);
    if (kind === 'model.responded') this.#steps += 1;
    if (!isObject(data)) return false;
    const callId = String(data['callId']);
    if (kind === 'call.checked') this.#ask(callId, data['arguments']);
    if (kind !== 'call.started') return false;
    const command = this.#asked.get(callId);
    this.#asked.delete(callId);
    if (command === undefined) return false;
    const commands = commandsIn(command);
    this.#unread ||= commands.length > COMMANDS_MOST || command.length === COMMAND_LONGEST;
    for (const one of commands.slice(0, COMMANDS_MOST)) this.#compare(one);
    return true;
  }

  /** Time passes from the beginning of a segment to a pause. */
  #passTo(now: number, kind: string): void {
    if (this.#since !== null) this.#workedMs += now - this.#since;
    const works = kind === 'segment.started' || (this.#since !== null && kind !== 'run.paused');
    this.#since = works ? now : null;
  }

  /** A call that has a command for a shell, by the name of its argument. */
  #ask(callId: string, given: JsonValue | undefined): void {
    if (!isObject(given)) return;
    const { command } = given;
    if (typeof command === 'string') this.#asked.set(callId, command.slice(0, COMMAND_LONGEST));
  }

  #compare(command: string): void {
    for (const pattern of this.#wanted)
      if (!this.#matched.has(pattern) && isLike(command, pattern)) this.#matched.set(pattern, command);
  }
}
