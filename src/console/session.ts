import { signal } from '@preact/signals';
import type { SignInView } from '../core/operations/sign-ins.js';
import { ask, isSignedOut, NoAnswerError, ProblemError } from './api/ask.js';
import { cache, signedOut } from './api/query.js';

/** Who signed in. Undefined: not known yet; null: no one. */
export const session = signal<SignInView | null | undefined>(undefined);

const others = new BroadcastChannel('holdfast-session');
others.addEventListener('message', () => location.reload());

const RENEW_MS = 600_000;

/** Asks who signed in. */
export async function readSession(): Promise<void> {
  try {
    const before = session.value;
    const now = await ask<SignInView>('sign-ins/current');
    if (before != null && whoIs(before) !== whoIs(now)) location.reload();
    session.value = now;
    signedOut.value = false;
  } catch (error) {
    if (isSignedOut(error)) end();
    else if (error instanceof ProblemError || error instanceof NoAnswerError)
      setTimeout(() => void readSession(), 2000);
    else throw error;
  }
}

/** Two sign-ins that may see the same and do the same. */
const whoIs = ({ tenant, actor, role }: SignInView): string => JSON.stringify([tenant, actor, role]);

/** Where someone was signed in, the page stays and asks again. */
function end(): void {
  if (session.value == null) session.value = null;
  else signedOut.value = true;
}

/** A code that the address brought, which no one has used yet; null: it brought none. */
export const broughtCode = signal<string | null>(null);

/** Takes the code out of the address, so that neither the history nor a copied link has it. */
export function takeCode(): void {
  const code = /^#code=([\w.~-]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, '', '/login');
  broughtCode.value = code;
}

export function dropCode(): void {
  broughtCode.value = null;
}

/** Signs in by a token, or by the code that the address brought. Throws `ProblemError`. */
export async function signIn(proof: { readonly token: string } | { readonly code: string }): Promise<void> {
  const before = session.value;
  const now = await ask<SignInView>('sign-ins', { method: 'POST', body: proof });
  const isSame = before != null && whoIs(before) === whoIs(now);
  // Before anyone else is shown: what was read belongs to the one before.
  if (!isSame) cache.clear();
  session.value = now;
  broughtCode.value = null;
  signedOut.value = false;
  if (isSame) await cache.invalidateQueries();
  else others.postMessage('changed');
}

/** Ends the sign-in, also one that has ended already. Throws `ProblemError` and `NoAnswerError`. */
export async function signOut(): Promise<void> {
  try {
    await ask('sign-ins/current', { method: 'DELETE' });
  } catch (error) {
    if (!isSignedOut(error)) throw error;
  }
  signedOut.value = false;
  cache.clear();
  session.value = null;
  others.postMessage('changed');
}

/** Whether the role allows an operation of the API. */
export const may = (operation: string): boolean => session.value?.may.includes(operation) === true;

setInterval(() => {
  if (document.visibilityState === 'visible' && session.value != null) void readSession();
}, RENEW_MS);
