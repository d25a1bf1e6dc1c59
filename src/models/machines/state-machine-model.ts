import { invalidRequest } from '../../core/field-errors.js';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.js';
import {
  type Machine,
  type MachineClock,
  type MachineEvent,
  type MachineState,
  type MachineTurn,
  machineFailed,
  takeMachineTurn,
} from '../../core/machines/machine.js';
import { resultIn } from '../../core/plans/node-result.js';
import { ProgramModel, type ProgramOutput, type ProgramTurn, resultsIn, said } from '../program-model.js';

/** Where a call says what its machine calls it. */
const CALL = 'machineCall';
/** Where an answer says the state that the machine is in, and what it was told of time. */
const STATE = 'machineState';

/** What an answer records. */
interface Kept {
  readonly machine: string;
  readonly state: MachineState;
  readonly clock: MachineClock;
}

/** A state machine in the place of a model: its transition says what is called next. Its state stands in each answer. */
export class StateMachineModel extends ProgramModel {
  override readonly kind = 'state machine';
  readonly machine: Machine;
  readonly #readInput: InputReader;

  constructor(machine: Machine, readInput: InputReader) {
    super();
    this.machine = machine;
    this.#readInput = readInput;
  }

  /** Refuses a run that it could not begin. Throws `invalid_request`. */
  assertStart({ input, sessionId }: { readonly input: JsonValue; readonly sessionId: string | null }): void {
    const { name } = this.machine;
    if (sessionId !== null)
      throw invalidRequest([
        { pointer: '/sessionId', detail: `${name} is a state machine, which has no conversation` },
      ]);
    const read = this.#readInput(input);
    if (!read.ok) throw invalidRequest([{ pointer: '/input', detail: read.why }]);
  }

  override get knowsLogicalTime(): boolean {
    return true;
  }

  protected override outputOf(items: readonly JsonObject[], { logicalTime, recorded }: ProgramTurn): ProgramOutput {
    const { machine } = this;
    const last = items.findLastIndex((item) => keptIn(item, machine.name) !== null);
    const found = last < 0 ? undefined : items[last];
    const kept = found === undefined ? null : keptIn(found, machine.name);
    const events =
      kept === null
        ? [{ type: 'input' as const, input: this.#inputIn(items) }]
        : endedCalls(machine.name, items.slice(last + 1));
    const told = recorded?.map((item) => keptIn(item, machine.name)).find((one) => one !== null)?.clock;
    const clock = told === undefined ? { now: Date.now, logicalTime } : { recorded: told };
    const turn = takeMachineTurn(machine, kept?.state ?? machine.initial, events, clock);
    return [said(...stateSaid(machine.name, turn)), ...nextOf(turn)];
  }

  #inputIn(items: JsonValue): JsonValue {
    const read = this.#readInput(items);
    if (read.ok) return read.input;
    throw machineFailed(this.machine.name, `its input cannot be read: ${read.why}`);
  }
}

/** Makes the input of a run that of the machine. */
export type InputReader = (
  input: JsonValue,
) => { readonly ok: true; readonly input: JsonValue } | { readonly ok: false; readonly why: string };

function stateSaid(name: string, { state, clock }: MachineTurn): [string, JsonObject] {
  const { times, logicalTime } = clock;
  const kept = { machine: name, state: { ...state }, clock: { times, logicalTime } };
  return [JSON.stringify({ state: state.name, data: state.data }), { [STATE]: kept }];
}

function nextOf({ next }: MachineTurn): ProgramOutput {
  if (next.type === 'output') return [said(JSON.stringify(next.output))];
  return next.calls.map(({ id, tool, arguments: given }) => ({
    ...{ type: 'function_call', callId: id, name: tool, status: 'completed' },
    ...{ arguments: JSON.stringify(given), providerData: { [CALL]: id } },
  }));
}

/** What an item says of the state of the machine; null: it is no answer of it. */
function keptIn({ role, providerData }: JsonObject, name: string): Kept | null {
  const kept = role === 'assistant' && isObject(providerData) ? providerData[STATE] : undefined;
  return isObject(kept) && kept['machine'] === name ? (kept as unknown as Kept) : null;
}

/** How the calls of the last turn ended, in their order. */
function endedCalls(name: string, items: readonly JsonObject[]): readonly MachineEvent[] {
  const results = resultsIn(items);
  const events = items.flatMap((item): MachineEvent[] => {
    if (item['type'] !== 'function_call') return [];
    const { providerData, callId } = item;
    const id = String((isObject(providerData) ? providerData[CALL] : undefined) ?? callId);
    const tool = String(item['name']);
    const result = resultIn(results.get(callId) ?? '');
    if (result.type === 'output') return [{ type: 'output', id, tool, output: result.output }];
    return [{ type: 'failed', id, tool, code: result.code, message: result.message }];
  });
  if (events.length === 0) throw machineFailed(name, 'its last answer has no call that ended');
  return events;
}
