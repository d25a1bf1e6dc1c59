import { HoldfastError } from '../../core/errors/errors.js';
import { knowSecret } from './known-secrets.js';
import { isKeyText, type Secret } from './secret.js';

const MAX_CHARS = 16 * 1024;

/** A secret in use: its value is read once, kept in memory, and read again when it was refused. */
export class HeldSecret {
  readonly #secret: Secret;
  #value: string | null = null;
  #reading: Promise<string> | null = null;

  constructor(secret: Secret) {
    this.#secret = secret;
  }

  get place(): string {
    return this.#secret.place;
  }

  /** Throws `secret_unreadable`. Requests that want it at the same time wait for one reading. */
  async value(): Promise<string> {
    return this.#value ?? (await this.#readOnce());
  }

  /** Another value than the one that a server refused; null: it is still the same, or cannot be read any more. */
  async renewed(refused: string): Promise<string | null> {
    if (this.#value !== null && this.#value !== refused) return this.#value;
    const value = await this.#readOnce().catch(() => null);
    return value === refused ? null : value;
  }

  #readOnce(): Promise<string> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(): Promise<string> {
    const value = await this.#secret.read().catch((error: unknown) => {
      throw unreadable(this.place, error instanceof Error ? error.message : 'it cannot be read');
    });
    if (typeof value !== 'string' || value === '') throw unreadable(this.place, 'it is empty');
    if (value.length > MAX_CHARS) throw unreadable(this.place, 'it is longer than 16,384 characters');
    // Before it is refused as well: it may be a key with a space too many.
    knowSecret(value);
    if (!isKeyText(value)) throw unreadable(this.place, 'it holds other characters than visible ASCII');
    this.#value = value;
    return value;
  }
}

const unreadable = (place: string, why: string): HoldfastError =>
  new HoldfastError('secret_unreadable', `A key cannot be read from ${place}: ${why}.`);
