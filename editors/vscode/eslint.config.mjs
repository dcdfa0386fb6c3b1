import js from "@eslint/js";
import typescript from "typescript-eslint";

export default typescript.config(
  { ignores: ["out/", "out-test/", "node_modules/", "src/protocol.ts"] },
  js.configs.recommended,
  {
    files: ["src/**/*.ts", "webview/**/*.ts", "test/**/*.ts"],
    extends: [...typescript.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "no-console": "error",
      eqeqeq: "error",
      // A default says that all else is meant.
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    // node:test's functions return promises that nobody has to wait for.
    files: ["test/**/*.ts"],
    rules: { "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["test", "describe", "it"] }] }] },
  },
  { files: ["*.mjs"], languageOptions: { globals: { process: "readonly" } } },
);
