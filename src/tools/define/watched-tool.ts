import type { FunctionTool } from '@openai/agents';

type Invoke = FunctionTool['invoke'];
/** All of a tool that is needed here, whatever its context and its input are. */
interface Invokable {
  readonly name: string;
  invoke: Invoke;
}

/** Where no tool may be invoked but through its guard, and what is said there. */
interface Watch {
  readonly isOn: () => boolean;
  readonly refuse: (tool: string) => Promise<never>;
}
let watch: Watch | null = null;

export const setInstrumentation = (given: Watch): void => {
  watch = given;
};

/** Throws where a tool must not be invoked past its guard. */
export async function assertInvokable(tool: string): Promise<void> {
  if (watch?.isOn()) await watch.refuse(tool);
}

const bodies = new WeakMap<() => Invoke, () => Invoke>();

/** What runs a tool, as the program made it. */
export function invokeOf(tool: Invokable): Invoke {
  const getter = Object.getOwnPropertyDescriptor(tool, 'invoke')?.get;
  return (getter === undefined ? undefined : bodies.get(getter)?.()) ?? tool.invoke;
}

/** From now on the one that invokes the tool past its guard is refused; elsewhere it works as before. Returns the tool. */
export function instrumentTool<T extends Invokable>(tool: T): T {
  const present = Object.getOwnPropertyDescriptor(tool, 'invoke');
  // A copy of a watched tool, in a namespace for example, is watched already.
  if (present?.configurable !== true || present.get !== undefined) return tool;
  let { invoke } = tool;
  const refused: Invoke = () => assertInvokable(tool.name);
  const getter = (): Invoke => (watch?.isOn() ? refused : invoke);
  bodies.set(getter, () => invoke);
  Object.defineProperty(tool, 'invoke', {
    configurable: true,
    enumerable: true,
    get: getter,
    set: (given: Invoke) => {
      invoke = given;
    },
  });
  return tool;
}
