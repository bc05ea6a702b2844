"""What a YAML file may say, and how it becomes a validated experiment."""
