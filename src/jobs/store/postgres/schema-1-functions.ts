/**
 * The conversation protocol as functions: one statement, one round trip, one transaction per operation. Each first
 * locks the conversation's row and then looks; in READ COMMITTED every statement inside sees what was committed before
 * it got the lock. Every function may be repeated after its answer was lost: `claim` and `commit` know their last call
 * by its token, the others are repeatable as such.
 */
const HOLDS = `
-- Locks the row; true while p_epoch is the newest.
CREATE FUNCTION threadloop.holds(p_key text, p_epoch bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM threadloop.conversation c WHERE c.key = p_key AND c.epoch = p_epoch FOR UPDATE;
  RETURN FOUND;
END $$;
`;

const PRESS = `
-- Judges a press and claims the choice for the person. The caller holds the row lock.
CREATE FUNCTION threadloop.press(p_key text, p_choice text, p_person text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  pressed threadloop.choice;
BEGIN
  SELECT * INTO pressed FROM threadloop.choice WHERE key = p_key AND id = p_choice;
  IF NOT FOUND THEN RETURN 'expired'; END IF;
  IF NOT (p_person = ANY (pressed.allowed) OR '*' = ANY (pressed.allowed)) THEN RETURN 'foreign'; END IF;
  IF pressed.taken_by IS NOT NULL THEN RETURN 'already'; END IF;
  IF pressed.closed IS NOT NULL OR pressed.till <= threadloop.clock()
    OR EXISTS (SELECT 1 FROM threadloop.conversation c WHERE c.key = p_key AND c.stop > 0) THEN
    RETURN 'expired';
  END IF;
  UPDATE threadloop.choice SET taken_by = p_person WHERE key = p_key AND id = p_choice;
  RETURN 'accepted';
END $$;
`;

const STOP = `
-- Judges a stop. The caller holds the row lock.
CREATE FUNCTION threadloop.may_stop(p_key text, p_run text, p_person text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  active_run text;
  allowed text[];
BEGIN
  SELECT c.run_id, c.run_allowed INTO active_run, allowed
    FROM threadloop.conversation c WHERE c.key = p_key AND c.run_phase IN ('running', 'waiting');
  IF p_run <> '' AND active_run IS DISTINCT FROM p_run THEN RETURN 'closed'; END IF;
  IF active_run IS NOT NULL AND NOT (p_person = ANY (allowed) OR '*' = ANY (allowed)) THEN RETURN 'foreign'; END IF;
  RETURN 'accepted';
END $$;
`;

const ACCEPT = `
CREATE FUNCTION threadloop.accept(
  p_key text, p_dedupe text, p_item text, p_person text, p_kind text, p_ref text, OUT result text, OUT number bigint
) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM threadloop.conversation c WHERE c.key = p_key FOR UPDATE;
  IF NOT FOUND THEN
    -- A refused item leaves no trace, so a conversation begins only with an item that is taken.
    result := CASE WHEN p_kind = 'choice' THEN 'expired' WHEN p_kind = 'stop' AND p_ref <> '' THEN 'closed' END;
    IF result IS NOT NULL THEN RETURN; END IF;
    INSERT INTO threadloop.conversation (key) VALUES (p_key) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM threadloop.conversation c WHERE c.key = p_key FOR UPDATE;
  END IF;
  SELECT s.seq INTO number FROM threadloop.seen s WHERE s.key = p_key AND s.dedupe = p_dedupe;
  IF FOUND THEN result := 'duplicate'; RETURN; END IF;
  result := CASE p_kind
    WHEN 'choice' THEN threadloop.press(p_key, p_ref, p_person)
    WHEN 'stop' THEN threadloop.may_stop(p_key, p_ref, p_person)
    ELSE 'accepted' END;
  IF result <> 'accepted' THEN RETURN; END IF;
  UPDATE threadloop.conversation c
    SET seq = c.seq + 1,
      dirty = coalesce(c.dirty, threadloop.clock()),
      stop = CASE WHEN p_kind = 'stop' THEN c.seq + 1 ELSE c.stop END
    WHERE c.key = p_key RETURNING c.seq INTO number;
  INSERT INTO threadloop.seen VALUES (p_key, p_dedupe, number, threadloop.clock());
  INSERT INTO threadloop.inbox VALUES (p_key, number, p_item);
END $$;
`;

const CLAIM = `
CREATE FUNCTION threadloop.claim(p_key text, p_token text, OUT epoch bigint, OUT claims integer, OUT state text)
LANGUAGE plpgsql AS $$
DECLARE
  step integer;
BEGIN
  INSERT INTO threadloop.conversation (key) VALUES (p_key) ON CONFLICT DO NOTHING;
  SELECT CASE WHEN c.claim_token = p_token THEN 0 ELSE 1 END INTO step
    FROM threadloop.conversation c WHERE c.key = p_key FOR UPDATE;
  UPDATE threadloop.conversation c
    SET epoch = c.epoch + step, claims = c.claims + step, claim_token = p_token, dirty = threadloop.clock()
    WHERE c.key = p_key RETURNING c.epoch, c.claims, c.state INTO epoch, claims, state;
END $$;
`;

const READ = `
-- Takes no lock: a single statement sees one moment.
CREATE FUNCTION threadloop.read(
  p_key text, p_epoch bigint,
  OUT items jsonb, OUT outbox jsonb, OUT live jsonb, OUT stop bigint, OUT seen bigint, OUT now bigint
) RETURNS SETOF record LANGUAGE sql AS $$
  SELECT
    (SELECT coalesce(jsonb_agg(jsonb_build_array(i.seq, i.item) ORDER BY i.seq), '[]')
      FROM threadloop.inbox i WHERE i.key = p_key),
    (SELECT coalesce(jsonb_agg(jsonb_build_array(o.n, o.body) ORDER BY o.n), '[]')
      FROM threadloop.outbox o WHERE o.key = p_key),
    (SELECT coalesce(jsonb_agg(jsonb_build_array(l.slot, l.id)), '[]')
      FROM threadloop.live l WHERE l.key = p_key),
    c.stop, c.seq, threadloop.clock()
  FROM threadloop.conversation c WHERE c.key = p_key AND c.epoch = p_epoch
$$;
`;

const COMMIT = `
CREATE FUNCTION threadloop.texts(p_list jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE
  AS $$ SELECT coalesce(array_agg(value), '{}') FROM jsonb_array_elements_text(p_list) $$;

-- A choice's id is used once: opening it again changes an untouched one and never revives a won or closed one.
CREATE FUNCTION threadloop.commit(p_key text, p_epoch bigint, p_token text, p_state text, p_patch jsonb)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  last_n bigint;
  last_token text;
  closing text[] := threadloop.texts(p_patch->'close');
  new_run jsonb := p_patch->'run';
BEGIN
  IF NOT threadloop.holds(p_key, p_epoch) THEN RETURN 'superseded'; END IF;
  SELECT c.outn, c.commit_token INTO last_n, last_token FROM threadloop.conversation c WHERE c.key = p_key;
  IF last_token = p_token THEN RETURN 'ok'; END IF;
  IF NOT (p_patch->>'knowsTaken')::boolean AND EXISTS (
    SELECT 1 FROM threadloop.choice
    WHERE key = p_key AND id = ANY (closing) AND taken_by IS NOT NULL AND closed IS NULL
  ) THEN
    RETURN 'taken';
  END IF;
  DELETE FROM threadloop.inbox WHERE key = p_key AND seq = ANY (threadloop.texts(p_patch->'ack')::bigint[]);
  DELETE FROM threadloop.outbox WHERE key = p_key AND n = ANY (threadloop.texts(p_patch->'delivered')::bigint[]);
  INSERT INTO threadloop.outbox (key, n, body)
    SELECT p_key, last_n + place, body FROM jsonb_array_elements_text(p_patch->'outbox') WITH ORDINALITY o (body, place);
  INSERT INTO threadloop.choice AS old (key, id, allowed, till)
    SELECT p_key, c->>'id', threadloop.texts(c->'allowed'), (c->>'till')::bigint
    FROM jsonb_array_elements(p_patch->'open') c
    ON CONFLICT (key, id) DO UPDATE SET allowed = excluded.allowed, till = excluded.till
    WHERE old.taken_by IS NULL AND old.closed IS NULL;
  UPDATE threadloop.choice SET closed = threadloop.clock() WHERE key = p_key AND id = ANY (closing) AND closed IS NULL;
  INSERT INTO threadloop.usage (at, key, entry)
    SELECT (u->>'at')::double precision, p_key, u->>'text' FROM jsonb_array_elements(p_patch->'usage') u;
  DELETE FROM threadloop.live WHERE key = p_key AND slot = ANY (threadloop.texts(p_patch->'forget'));
  UPDATE threadloop.conversation c SET
    state = p_state,
    claims = 0,
    commit_token = p_token,
    outn = last_n + jsonb_array_length(p_patch->'outbox'),
    stop = CASE WHEN c.stop <= (p_patch->>'stopUpTo')::bigint THEN 0 ELSE c.stop END,
    wake = CASE WHEN p_patch ? 'wakeAt' THEN nullif(p_patch->>'wakeAt', 'none')::bigint ELSE c.wake END,
    dirty = threadloop.clock()
    WHERE c.key = p_key;
  IF new_run IS NOT NULL THEN
    UPDATE threadloop.conversation c SET
      run = new_run->>'mark',
      run_id = new_run->>'id',
      run_phase = new_run->>'phase',
      run_allowed = threadloop.texts(new_run->'allowed'),
      run_updated = (new_run->>'updatedAt')::bigint
      WHERE c.key = p_key;
  END IF;
  RETURN 'ok';
END $$;
`;

const SETTLE = `
CREATE FUNCTION threadloop.settle(p_key text, p_epoch bigint, p_seen bigint, p_wake bigint)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF NOT threadloop.holds(p_key, p_epoch) THEN RETURN 'superseded'; END IF;
  IF EXISTS (SELECT 1 FROM threadloop.conversation c WHERE c.key = p_key AND c.seq > p_seen) THEN RETURN 'busy'; END IF;
  IF p_wake <= threadloop.clock() THEN RETURN 'busy'; END IF;
  IF p_wake IS NULL AND (EXISTS (SELECT 1 FROM threadloop.inbox WHERE key = p_key)
    OR EXISTS (SELECT 1 FROM threadloop.outbox WHERE key = p_key)) THEN
    RETURN 'busy';
  END IF;
  UPDATE threadloop.conversation c SET wake = p_wake, dirty = NULL, claims = 0 WHERE c.key = p_key;
  RETURN 'ok';
END $$;
`;

const LIVE = `
CREATE FUNCTION threadloop.live_intent(p_key text, p_epoch bigint, p_slot text, OUT intent text, OUT id text)
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT threadloop.holds(p_key, p_epoch) THEN intent := 'superseded'; RETURN; END IF;
  SELECT l.id INTO id FROM threadloop.live l WHERE l.key = p_key AND l.slot = p_slot;
  intent := CASE WHEN NOT FOUND THEN 'fresh' WHEN id = '' THEN 'again' ELSE 'known' END;
  IF intent = 'fresh' THEN INSERT INTO threadloop.live VALUES (p_key, p_slot, ''); END IF;
END $$;

CREATE FUNCTION threadloop.live_id(p_key text, p_epoch bigint, p_slot text, p_id text)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF NOT threadloop.holds(p_key, p_epoch) THEN RETURN 'superseded'; END IF;
  INSERT INTO threadloop.live VALUES (p_key, p_slot, p_id) ON CONFLICT (key, slot) DO UPDATE SET id = p_id;
  RETURN 'ok';
END $$;
`;

export const CONVERSATION_FUNCTIONS = [HOLDS, PRESS, STOP, ACCEPT, CLAIM, READ, COMMIT, SETTLE, LIVE].join('');
