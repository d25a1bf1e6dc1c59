import { readFileSync } from 'node:fs';

/** Waits until a process stands still (state T), as the kernel tells it. */
export async function stopped(pid: number): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (/^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`process ${pid} did not stop`);
}
