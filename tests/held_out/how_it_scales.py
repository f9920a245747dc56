"""Nobody has answered yet who saw only the statement."""
