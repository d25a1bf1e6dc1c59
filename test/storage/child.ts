import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

export interface Child {
  /** The next line that it prints; `null` when it has ended. */
  line(): Promise<string | null>;
  kill(): Promise<void>;
  readonly process: ChildProcess;
}

/** Runs a module in a process of its own; `storage` in its code stands for the folder of the built storage. */
export function runChild(code: string): Child {
  const built = resolve('dist/src/storage');
  const script = code.replaceAll(/from '\.\//g, `from '${built}/`);
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exited = once(child, 'exit');
  return {
    process: child,
    async line() {
      const { value, done } = await lines.next();
      return done === true ? null : value;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
