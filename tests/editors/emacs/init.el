;;; init.el --- The Emacs of the journeys -*- lexical-binding: t; -*-

;; A person's settings, with nothing but the shipped file, and a rig through which the journey looks.

;;; Code:

(setq inhibit-startup-screen t
      ring-bell-function #'ignore
      make-backup-files nil
      auto-save-default nil
      create-lockfiles nil
      ;; Nothing is compiled, which takes seconds in each new home.
      native-comp-jit-compilation nil
      native-comp-enable-subr-trampolines nil
      ;; Every message is kept; the runner saves them.
      eglot-events-buffer-config '(:size nil :format full))
;; Nor what was loaded before this file.
(advice-add 'native--compile-async :override #'ignore)
;; What is typed must arrive as typed.
(electric-indent-mode -1)
(set-language-environment "UTF-8")

;; A newcomer's own init file has loaded it.
(unless (getenv "JOURNEY_CLEAN")
  (load (expand-file-name "editors/emacs/countersign.el" (getenv "JOURNEY_REPOSITORY")) nil t))

(defun rig-lint (report &rest _)
  "Stand for another linter: REPORT the undefined name `totl'."
  (save-excursion
    (goto-char (point-min))
    (funcall report
             (when (search-forward "return totl" nil t)
               (list (flymake-make-diagnostic (current-buffer) (- (point) 4) (point) :error
                                              "undefined name 'totl'"))))))

(add-hook 'python-mode-hook
          (lambda ()
            (add-hook 'flymake-diagnostic-functions #'rig-lint nil t)
            (flymake-mode 1)))

(defun rig-run (file value)
  "Write VALUE to FILE as JSON, in one step."
  (let ((coding-system-for-write 'utf-8-unix)
        (new (concat file ".new")))
    (write-region (json-serialize value) nil new nil 'silent)
    (rename-file new file t)
    t))

(defun rig-question ()
  "What the minibuffer asks, and what may be chosen there."
  (if-let* ((window (active-minibuffer-window)))
      (with-current-buffer (window-buffer window)
        (list :text (or (minibuffer-prompt) "")
              :choices (vconcat (all-completions "" minibuffer-completion-table minibuffer-completion-predicate))))
    :null))

(defun rig-keep-log (folder)
  "Write all messages between Emacs and the server below FOLDER."
  (let ((coding-system-for-write 'utf-8-emacs-unix))
    (dolist (buffer (buffer-list))
      (when (string-match-p "EGLOT\\|\\*Messages" (buffer-name buffer))
        (with-current-buffer buffer
          (write-region nil nil
                        (expand-file-name (format "emacs%s.log" (replace-regexp-in-string "[^a-z]+" "-" (downcase (buffer-name))))
                                          folder)
                        nil 'silent)))))
  t)

(require 'server)
(setq server-socket-dir (getenv "JOURNEY_STATE")
      server-name "emacs.sock")
(set-file-modes server-socket-dir #o700)
(server-start)

;;; init.el ends here
