/** A document that was removed with its history. */
export interface GoneDocument {
  readonly tenant: string;
  readonly space: string;
  /** Null: it was made before the database kept evidence. */
  readonly id: string | null;
  readonly version: number;
}
export const GONE = ['tenant', 'space', 'id', 'version'] as const;

/** Who removed documents, and why. */
export interface Forgetting {
  readonly actor: string;
  readonly reason: string;
}

/** The time of a document is over. */
export const EXPIRED: Forgetting = { actor: 'retention', reason: 'The retention of the space' };
