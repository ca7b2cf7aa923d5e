/** Stands for what is not shown. */
export const HIDDEN = '•••';

/** Letters of a value that looks like a key which stay visible, so that a person can tell which key it is. */
const SHOWN_CHARACTERS = 4;

const SECRET_NAME =
  /pass(?:word|wd|phrase|code)|secret(?!ar)|token(?!iz)|api_?key|access_?key|private_?key|signing_?key|credential|authorization|cookie|bearer|session_?id|(?:^|_)(?:auth|pwd|pin|otp)$/;

/** Keys that vendors mark with a prefix, web tokens, bot tokens. */
const MARKED_SECRET = new RegExp(
  [
    /\b(?:sk|glpat|xox[a-z]|xapp)-(?=[\w-]{0,80}\d)[\w-]{10,}/,
    /\b(?:[spr]k|gh[pousr]|github_pat|npm|hf|dop_v1|shp[a-z]{2}|whsec)_(?=\w{0,80}\d)\w{16,}/,
    /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/,
    /\b(?:AIza|ya29\.)[\w-]{20,}/,
    /\beyJ[\w-]{8,}\.[\w-]{2,}(?:\.[\w-]*)*/,
    /\b\d{6,12}:[\w-]{30,}/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

const PRIVATE_KEY = /(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g;

/** What follows a name that says it: `Bearer x`, `https://name:x@host`, `password=x`, `"api_key": "x"`, `--token x`. */
const NAMED_SECRETS = [
  /(\b(?:bearer|basic)\s{1,3})(?=\S{0,200}[\d=])[\w.~+/=-]{8,}/gi,
  /(:\/\/[^\s/:@]{0,200}:)[^\s/@]{1,200}(?=@)/g,
  /((?:password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|\bpwd|signature|\bsig)["']?\s{0,3}[=:]\s{0,3}["']?)[^\s"'&;,•]{4,}/gi,
  /(--[\w-]{0,30}(?:password|passwd|secret|token|api-?key)\s{1,3}["']?)[^\s"'•-][^\s"']{3,}/gi,
] as const;

const LONG_RUN = /[A-Za-z0-9+/_-]{33,}={0,2}/g;

/** Does the name of a field say that its value is a secret? `maxTokens: 5` says how many. */
export function isSecretField(name: string, value: unknown): boolean {
  if (value === null || typeof value === 'boolean') return false;
  const plain = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[\s.-]/g, '_')
    .toLowerCase();
  return SECRET_NAME.test(plain) && !(typeof value === 'number' && plain.endsWith('tokens'));
}

/** The text with everything that looks like a key, token or password hidden, keys behind their first letters. */
export function maskSecrets(text: string): string {
  const marked = text.replace(PRIVATE_KEY, `$1 ${HIDDEN}`).replace(MARKED_SECRET, shortened);
  return NAMED_SECRETS.reduce((masked, pattern) => masked.replace(pattern, `$1${HIDDEN}`), marked).replace(
    LONG_RUN,
    (run) => (looksRandom(run) ? shortened(run) : run),
  );
}

function shortened(secret: string): string {
  return secret.slice(0, SHOWN_CHARACTERS) + HIDDEN;
}

/**
 * Hexadecimal digits, or letters and digits that alternate far more often than in words and names. The longest part
 * between separators is looked at, because a path may consist of many short words.
 */
function looksRandom(run: string): boolean {
  if (/[0-9a-f]{33}/i.test(run)) return true;
  const part = run.split(/[/+_=-]/).reduce((longest, next) => (next.length > longest.length ? next : longest), '');
  if (part.length < 16 || !/\d/.test(part)) return false;
  const kinds = Array.from(part, (char) => (/\d/.test(char) ? 'digit' : /[a-z]/.test(char) ? 'small' : 'large'));
  const changes = kinds.filter((kind, at) => at > 0 && kind !== kinds[at - 1]).length;
  return changes / part.length > (new Set(kinds).size === 3 ? 0.45 : 0.3);
}
