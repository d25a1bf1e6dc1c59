/** Where the text of one saved run state is kept: a file, a row, or anything else that can do this. */
export interface RunStateBackend {
  /** For messages: what is read and written. */
  readonly place: string;
  /** Null: nothing is saved. */
  read(): Promise<string | null>;
  /** All or nothing: a reader sees the old text or the new one. */
  write(text: string): Promise<void>;
  /** Nothing saved is no error. */
  remove(): Promise<void>;
}
