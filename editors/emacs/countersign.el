;;; countersign.el --- The Countersign agent through Eglot -*- lexical-binding: t; -*-

;; Needs Emacs 30 (or Eglot 1.17 from GNU ELPA) and the program `countersign' on PATH.
;;
;;   (load "/path/to/countersign.el")
;;
;; M-x countersign        starts the agent for this buffer's project
;; M-x countersign-chat   opens a chat: write at its end, C-c C-c sends, C-c C-k stops,
;;                        C-c C-a approves, accepts and rejects
;; M-x countersign-fix    lets it fix what Flymake reports at point, or in the region
;; M-x countersign-diff   shows what its last turn changed
;; M-x countersign-list   lists the conversations: C-c C-a on a line opens, copies, archives it
;; M-x countersign-undo   takes its last turn back: every file is as before
;; M-x eglot-code-actions lists what else it offers here

;;; Code:

(require 'eglot)
(require 'flymake)
(eval-when-compile (require 'cl-lib))

(defclass countersign-server (eglot-lsp-server) ()
  :documentation "The agent: it asks before it acts.")

;; Last in the list: where you have a language server for a mode, that one stays the default.
(add-to-list 'eglot-server-programs '((prog-mode text-mode conf-mode) . (countersign-server "countersign")) t)

;; Eglot starts a server for each major mode. A chat is about the files beside it, which are not open for another agent: their
;; buffers would not hear of what it changes.
(defun countersign--join ()
  "Have the agent that runs in this project serve this buffer too.
Nil if none runs there."
  (when-let* ((server (seq-find (lambda (one) (cl-typep one 'countersign-server))
                                (gethash (eglot--current-project) eglot--servers-by-project))))
    (unless (assq major-mode (eglot--languages server))
      (setf (eglot--languages server)
            (cons (cons major-mode (string-remove-suffix "-mode" (symbol-name major-mode)))
                  (eglot--languages server))))
    (eglot--maybe-activate-editing-mode)
    t))

(defun countersign ()
  "Start the agent for this buffer's project.
Eglot keeps one server for each buffer: where another one is to stay, see README.md for `lsp-mode'."
  (interactive)
  (unless (countersign--join)
    (countersign--start)))

(defun countersign--start ()
  "Start the agent for this buffer."
  (let ((eglot-server-programs (list (cons major-mode '(countersign-server "countersign")))))
    (call-interactively #'eglot)))

;; Eglot silences all other Flymake backends of a buffer that it manages. Their findings are what the agent is to fix.
(defun countersign--keep-backends ()
  "Let the Flymake backends that this buffer had go on beside the agent."
  (when (and (eglot-managed-p) (cl-typep (eglot-current-server) 'countersign-server))
    (dolist (backend (cdr (assq 'flymake-diagnostic-functions eglot--saved-bindings)))
      (add-hook 'flymake-diagnostic-functions backend t t))
    (when (bound-and-true-p flymake-mode)
      (flymake-start))))

(add-hook 'eglot-managed-mode-hook #'countersign--keep-backends)

;; Eglot fills in the first choice, so that a RET meant for the buffer would say yes, and never answers after C-g.
(cl-defmethod eglot-handle-request
  ((_server countersign-server) (_method (eql window/showMessageRequest)) &key message actions &allow-other-keys)
  "Ask MESSAGE; one of ACTIONS written out is an answer, quitting is a no."
  (let* ((titles (mapcar (lambda (action) (plist-get action :title)) actions))
         (exit (lambda ()
                 (interactive)
                 (if (member (minibuffer-contents) titles)
                     (exit-minibuffer)
                   (minibuffer-message "Choose one in full, with TAB; C-g is a no"))))
         (chosen (condition-case nil
                     (minibuffer-with-setup-hook
                         (lambda ()
                           (use-local-map (define-keymap :parent (current-local-map) "RET" exit "C-j" exit)))
                       (completing-read (format "%s\n(%s): " message (string-join titles ", ")) titles nil t))
                   (quit nil))))
    ;; Nothing is sent as null.
    (and (member chosen titles) (list :title chosen))))

(defun countersign--severity (type)
  "The LSP severity of the Flymake diagnostic TYPE, whoever defined that type."
  (let ((name (symbol-name type)))
    (cond ((string-match-p "error" name) 1)
          ((string-match-p "warning" name) 2)
          (t 3))))

(defun countersign--diagnostic (overlay)
  "The Flymake diagnostic under OVERLAY in the shape that LSP wants.
The overlay moves along with the text, the diagnostic's positions do not."
  (let* ((diagnostic (overlay-get overlay 'flymake-diagnostic))
         (backend (flymake-diagnostic-backend diagnostic)))
    (list :range (list :start (eglot--pos-to-lsp-position (overlay-start overlay))
                       :end (eglot--pos-to-lsp-position (overlay-end overlay)))
          :severity (countersign--severity (flymake-diagnostic-type diagnostic))
          :source (if (symbolp backend) (symbol-name backend) "flymake")
          :message (flymake-diagnostic-text diagnostic))))

;; Eglot tells a server only of that server's own diagnostics. The agent is to fix those of others, so ask ourselves.
(defun countersign--foreign (overlay)
  "Whether a diagnostic that the agent did not report lies under OVERLAY."
  (let ((diagnostic (overlay-get overlay 'flymake-diagnostic)))
    (and diagnostic (not (eq (flymake-diagnostic-backend diagnostic) 'eglot-flymake-backend)))))

(defun countersign-fix (beg end)
  "Let the agent fix what Flymake reports on this line, or between BEG and END."
  (interactive (if (use-region-p)
                   (list (region-beginning) (region-end))
                 (list (line-beginning-position) (line-end-position))))
  (let* ((server (or (eglot-current-server)
                     (user-error "The agent does not run for this buffer; start it with M-x countersign")))
         (diagnostics (or (seq-filter #'countersign--foreign (overlays-in beg end))
                          (user-error "Flymake reports nothing here")))
         ;; The agent offers nothing to whoever asks for a kind, as editors do on save: ask for all, and look for it.
         (actions (append
                   (eglot--request
                    server :textDocument/codeAction
                    (list :textDocument (eglot--TextDocumentIdentifier)
                          :range (list :start (eglot--pos-to-lsp-position beg)
                                       :end (eglot--pos-to-lsp-position end))
                          :context (list :diagnostics
                                         (vconcat (mapcar #'countersign--diagnostic diagnostics)))))
                   nil))
         (actions (seq-filter (lambda (action) (equal (plist-get action :kind) "countersign.fix")) actions))
         (titles (mapcar (lambda (action) (cons (plist-get action :title) action)) actions)))
    (pcase titles
      ('nil (user-error "The agent offers nothing here"))
      (`((,_ . ,only)) (eglot-execute server only))
      (_ (eglot-execute server (cdr (assoc (completing-read "Fix: " titles nil t) titles)))))))

;; A command may ask the person something before it is answered. Whoever waited for the answer would take the question away from
;; the minibuffer as the answer comes, so nobody waits.
(defun countersign--send (server command arguments)
  "Have SERVER do COMMAND with ARGUMENTS, and tell what keeps it from it."
  (countersign--tell-changes server)
  (jsonrpc-async-request server :workspace/executeCommand
                         (list :command command :arguments (or arguments []))
                         :success-fn #'ignore
                         :error-fn (lambda (problem)
                                     (message "Countersign: %s" (plist-get problem :message)))))

(cl-defmethod eglot-execute :around ((server countersign-server) action)
  "Have SERVER do the command of ACTION without waiting for it."
  (let ((command (plist-get action :command)))
    (cond ((plist-get action :edit) (cl-call-next-method))
          ((stringp command) (countersign--send server command (plist-get action :arguments)))
          ((consp command) (countersign--send server (plist-get command :command) (plist-get command :arguments)))
          (t (cl-call-next-method)))))

(defun countersign--execute (command)
  "Have the agent do COMMAND, which belongs to no place in a file."
  (countersign--send (eglot--current-server-or-lose) command []))

(defun countersign-diff ()
  "Show what the agent's last turn changed."
  (interactive)
  (countersign--execute "countersign.showTurnDiff"))

(defun countersign-review ()
  "Have changes reviewed; what was found lies on its lines as diagnostics."
  (interactive)
  (countersign--execute "countersign.reviewChanges"))

(defun countersign-undo ()
  "Take the agent's last turn back: every file becomes what it was before."
  (interactive)
  (countersign--execute "countersign.undoLastTurn"))

;; A chat is a file whose name ends with .countersign.md (docs/chat-document.md). Lists of conversations lie among those of the
;; home folder.
(defvar countersign-chat-mode-map
  (define-keymap "C-c C-c" #'countersign-send "C-c C-k" #'countersign-stop "C-c C-a" #'eglot-code-actions)
  "Keys of chat documents.")

(define-minor-mode countersign-chat-mode
  "Keys of chat documents: send, stop, and what else can be done."
  :lighter " Chat"
  :keymap countersign-chat-mode-map
  ;; Eglot completes symbols: what is completed after a slash begins behind it.
  (when countersign-chat-mode
    (let ((table (make-syntax-table (syntax-table))))
      (modify-syntax-entry ?/ "." table)
      (set-syntax-table table))))

(defun countersign--chat-opened ()
  "Start the agent for a chat document or a list of conversations, as it is opened."
  (when (and buffer-file-name
             (string-match-p "\\.countersign\\.md\\'\\|/chats/conversations-[0-9]+\\.md\\'" buffer-file-name))
    (unless (derived-mode-p 'text-mode) (text-mode))
    (countersign-chat-mode)
    (unless (or (eglot-managed-p) (countersign--join))
      (let ((eglot-server-programs (list (cons major-mode '(countersign-server "countersign")))))
        (apply #'eglot (eglot--guess-contact))))))

(add-hook 'find-file-hook #'countersign--chat-opened)

;; Eglot tells a server of what was typed only after a pause, and takes edits for the text before it all the same: what is typed
;; in that pause would have them land in the wrong place. And the agent believes that an edit was made once it hears of the text.
(defun countersign--tell-changes (server)
  "Tell SERVER of what has changed in each buffer."
  (dolist (buffer (eglot--managed-buffers server))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (eglot--signal-textDocument/didChange)))))

(cl-defmethod eglot-handle-request :around
  ((server countersign-server) (_method (eql workspace/applyEdit)) &key &allow-other-keys)
  "Tell SERVER of what was typed before its edit, and of the edit; make no words of each."
  (countersign--tell-changes server)
  (prog1 (let ((inhibit-message t))
           (cl-call-next-method))
    (countersign--tell-changes server)))

;; The agent completes in chats and nowhere else; elsewhere what completed before goes on.
(defun countersign--completion ()
  "Leave completion alone where the agent has none."
  (when (and (eglot-managed-p)
             (cl-typep (eglot-current-server) 'countersign-server)
             (not (string-suffix-p ".countersign.md" (or buffer-file-name ""))))
    (remove-hook 'completion-at-point-functions #'eglot-completion-at-point t)))

(add-hook 'eglot-managed-mode-hook #'countersign--completion)

(defun countersign--chat-command (command)
  "Have the agent do COMMAND in this chat document."
  (countersign--send (eglot--current-server-or-lose) command
                     (vector (list :uri (plist-get (eglot--TextDocumentIdentifier) :uri)))))

(defun countersign-send ()
  "Send what is written at the end of this chat document."
  (interactive)
  (countersign--chat-command "countersign.chatSend"))

(defun countersign-stop ()
  "Stop the running turn of this chat document."
  (interactive)
  (countersign--chat-command "countersign.chatStop"))

(defun countersign-chat ()
  "Open a new chat document."
  (interactive)
  (countersign--execute "countersign.openChat"))

(defun countersign-list ()
  "List the conversations, to open, copy and archive them."
  (interactive)
  (countersign--execute "countersign.listThreads"))

(defun countersign-compact ()
  "Compact the conversation to make room in the model's context window."
  (interactive)
  (countersign--execute "countersign.compactThread"))

(provide 'countersign)
;;; countersign.el ends here
