"""stable-baselines3: a few hundred steps of PPO, A2C and DQN on a cart with a pole, and files."""

import json
import tempfile
import warnings

from stable_baselines3 import A2C, DQN, PPO

warnings.simplefilter("ignore")
result = {}
for kind, options in (
    (PPO, {"n_steps": 64, "batch_size": 32, "n_epochs": 2}),
    (A2C, {}),
    (DQN, {"learning_starts": 20, "buffer_size": 500}),
):
    model = kind("MlpPolicy", "CartPole-v1", seed=0, device="cpu", **options)
    model.learn(200)
    result[kind.__name__] = [
        [list(p.shape), p.sum().item(), p.abs().sum().item()] for p in model.policy.parameters()
    ]
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        again = kind.load(f"{folder}/model", device="cpu")
    observation = model.get_env().reset()
    result[f"{kind.__name__} acts"] = [
        m.predict(observation, deterministic=True)[0].tolist() for m in (model, again)
    ]
print(json.dumps(result))
