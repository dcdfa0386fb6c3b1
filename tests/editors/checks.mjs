// One line for each thing that was looked at, and their sum.
let passed = 0;
let failed = 0;
export function check(name, good, detail) {
  if (good) {
    passed += 1;
    console.log(`ok    ${name}`);
  } else {
    failed += 1;
    const told = detail === undefined ? "" : `\n      ${(typeof detail === "string" ? detail : JSON.stringify(detail, undefined, 1)).replaceAll("\n", "\n      ")}`;
    console.log(`FAIL  ${name}${told}`);
  }
}
export const equal = (name, got, want) => check(name, got === want, got === want ? undefined : `got:\n${got}\nwanted:\n${want}`);

/** Prints the sum and ends the process: 1 if anything failed. */
export function finish() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}
