import { describe, expect, test } from 'vitest';
import {
  beginsReadOnly,
  beginsTransaction,
  endsTransaction,
  listenCommand,
  onlyReads,
} from '../../../src/storage/database/pglite/pglite-wire.js';

describe('The text of a statement', () => {
  test('begins a transaction', () => {
    for (const text of [
      'BEGIN',
      'begin;',
      ' \n BEGIN ISOLATION LEVEL READ COMMITTED',
      '-- why\n/* so */ start transaction',
    ]) {
      expect(beginsTransaction(text), text).toBe(true);
    }
    for (const text of ['BEGINNING', 'SELECT 1 -- BEGIN', "INSERT INTO t VALUES ('BEGIN')", '']) {
      expect(beginsTransaction(text), text).toBe(false);
    }
    expect(beginsReadOnly('BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY')).toBe(true);
    expect(beginsReadOnly('BEGIN')).toBe(false);
  });

  test('ends a transaction', () => {
    for (const text of ['COMMIT', 'commit;', 'END', 'ROLLBACK', 'rollback work;', 'ABORT']) {
      expect(endsTransaction(text), text).toBe(true);
    }
    for (const text of ['ROLLBACK TO SAVEPOINT a', 'ROLLBACK WORK TO a', 'COMMIT AND CHAIN', 'COMMITTED', 'ENDING']) {
      expect(endsTransaction(text), text).toBe(false);
    }
  });

  test('only reads', () => {
    for (const text of ['SELECT 1', ' select * from t where a = $1', 'SHOW search_path']) {
      expect(onlyReads(text), text).toBe(true);
    }
    for (const text of [
      'SELECT 1 FOR UPDATE',
      'select a from t for no key update',
      'INSERT INTO t',
      'WITH x AS (DELETE FROM t) SELECT 1',
    ]) {
      expect(onlyReads(text), text).toBe(false);
    }
  });

  test('listens', () => {
    expect(listenCommand('LISTEN Some_channel;')).toEqual({ listen: true, channel: 'some_channel' });
    expect(listenCommand('listen "Some ""channel"""')).toEqual({ listen: true, channel: 'Some "channel"' });
    expect(listenCommand('UNLISTEN a')).toEqual({ listen: false, channel: 'a' });
    expect(listenCommand('UNLISTEN *')).toEqual({ listen: false, channel: null });
    expect(listenCommand("SELECT 'LISTEN a'")).toBeNull();
  });
});
