/**
 * Tables of schema version 1. Times are ms of the server's clock. Bodies (state, items, outbox, marks) are JSON as
 * `text`, not `jsonb`: jsonb refuses NUL and half surrogate pairs, which people and models do write.
 */
export const TABLES = `
CREATE TABLE threadloop.conversation (
  key text PRIMARY KEY,
  epoch bigint NOT NULL DEFAULT 0,
  claims integer NOT NULL DEFAULT 0,
  seq bigint NOT NULL DEFAULT 0,
  outn bigint NOT NULL DEFAULT 0,
  stop bigint NOT NULL DEFAULT 0,
  state text,
  dirty bigint,
  wake bigint,
  claim_token text,
  commit_token text,
  run text,
  run_id text,
  run_phase text,
  run_allowed text[],
  run_updated bigint
);
CREATE INDEX conversation_dirty ON threadloop.conversation (dirty) WHERE dirty IS NOT NULL;
CREATE INDEX conversation_wake ON threadloop.conversation (wake) WHERE wake IS NOT NULL;
CREATE INDEX conversation_run ON threadloop.conversation (run_updated DESC) WHERE run IS NOT NULL;
CREATE INDEX conversation_phase ON threadloop.conversation (run_phase, run_updated DESC) WHERE run IS NOT NULL;

CREATE TABLE threadloop.inbox (key text, seq bigint, item text NOT NULL, PRIMARY KEY (key, seq));
CREATE TABLE threadloop.outbox (key text, n bigint, body text NOT NULL, PRIMARY KEY (key, n));
CREATE TABLE threadloop.live (key text, slot text, id text NOT NULL, PRIMARY KEY (key, slot));

CREATE TABLE threadloop.seen (key text, dedupe text, seq bigint NOT NULL, at bigint NOT NULL, PRIMARY KEY (key, dedupe));
CREATE INDEX seen_at ON threadloop.seen (at);

CREATE TABLE threadloop.choice (
  key text,
  id text,
  allowed text[] NOT NULL,
  till bigint NOT NULL,
  taken_by text,
  closed bigint,
  PRIMARY KEY (key, id)
);
CREATE INDEX choice_closed ON threadloop.choice (closed) WHERE closed IS NOT NULL;

CREATE TABLE threadloop.usage (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at double precision NOT NULL,
  key text NOT NULL,
  entry text NOT NULL
);
CREATE INDEX usage_at ON threadloop.usage (at, id);

CREATE TABLE threadloop.record (
  space text,
  key text,
  value text NOT NULL,
  expires bigint NOT NULL,
  PRIMARY KEY (space, key)
);
CREATE INDEX record_expires ON threadloop.record (expires);

CREATE TABLE threadloop.lease (name text PRIMARY KEY, owner text NOT NULL, expires bigint NOT NULL);

-- Losing debts in a crash is harmless, waiting for the disk at each edit is not.
CREATE UNLOGGED TABLE threadloop.budget (bucket text PRIMARY KEY, arrival double precision NOT NULL);
CREATE INDEX budget_arrival ON threadloop.budget (arrival);

CREATE TABLE threadloop.board (conversation text PRIMARY KEY, version bigint NOT NULL);
CREATE TABLE threadloop.board_message (
  conversation text,
  id text,
  version bigint NOT NULL,
  position bigint NOT NULL,
  removed boolean NOT NULL DEFAULT false,
  body text NOT NULL,
  PRIMARY KEY (conversation, id)
);
CREATE INDEX board_message_version ON threadloop.board_message (conversation, version);

CREATE FUNCTION threadloop.clock() RETURNS bigint LANGUAGE sql VOLATILE
  AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;
`;
