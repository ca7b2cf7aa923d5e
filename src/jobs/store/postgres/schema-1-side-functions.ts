import { OVERDRAFT_MS } from '../budget-limits.js';

/** Functions of budgets and board; the rules of schema-1-functions hold here too. */
const BUDGET = `
-- p_limits: [{bucket, everyMs, toleranceMs}], sorted by bucket, so that two calls lock in the same order.
CREATE FUNCTION threadloop.budget_take(p_limits jsonb, p_final boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  now double precision;
  wait double precision;
BEGIN
  INSERT INTO threadloop.budget SELECT l->>'bucket', 0 FROM jsonb_array_elements(p_limits) l ON CONFLICT DO NOTHING;
  PERFORM 1 FROM threadloop.budget b WHERE b.bucket IN (SELECT l->>'bucket' FROM jsonb_array_elements(p_limits) l)
    ORDER BY b.bucket FOR UPDATE;
  now := threadloop.clock();
  SELECT max(b.arrival - (l->>'toleranceMs')::double precision - now) INTO wait
    FROM threadloop.budget b JOIN jsonb_array_elements(p_limits) l ON b.bucket = l->>'bucket';
  UPDATE threadloop.budget b SET arrival = greatest(b.arrival, least(
      greatest(b.arrival, now) + (l->>'everyMs')::double precision,
      now + (l->>'toleranceMs')::double precision + ${OVERDRAFT_MS}))
    FROM jsonb_array_elements(p_limits) l WHERE b.bucket = l->>'bucket';
  RETURN CASE WHEN p_final THEN 0 ELSE ceil(greatest(wait, 0)) END;
END $$;
`;

// The counter's row is locked by its own update, so versions are given out one after the other.
const BOARD = `
CREATE FUNCTION threadloop.board_version(p_conversation text) RETURNS bigint LANGUAGE sql AS $$
  INSERT INTO threadloop.board AS b VALUES (p_conversation, 1)
    ON CONFLICT (conversation) DO UPDATE SET version = b.version + 1 RETURNING b.version
$$;

CREATE FUNCTION threadloop.board_put(p_conversation text, p_id text, p_body text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  given bigint := threadloop.board_version(p_conversation);
BEGIN
  INSERT INTO threadloop.board_message (conversation, id, version, position, body)
    VALUES (p_conversation, p_id, given, given, p_body)
    ON CONFLICT (conversation, id) DO UPDATE SET version = given, removed = false, body = p_body;
  RETURN given;
END $$;

CREATE FUNCTION threadloop.board_remove(p_conversation text, p_id text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM threadloop.board b WHERE b.conversation = p_conversation FOR UPDATE;
  PERFORM 1 FROM threadloop.board_message WHERE conversation = p_conversation AND id = p_id AND NOT removed;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE threadloop.board_message SET version = threadloop.board_version(p_conversation), removed = true, body = 'null'
    WHERE conversation = p_conversation AND id = p_id;
  RETURN true;
END $$;
`;

export const SIDE_FUNCTIONS = BUDGET + BOARD;
